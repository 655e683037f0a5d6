package want

import (
	"encoding/binary"
	"iter"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// rootNo is the number of a root event in the fold; 0 is none. The fold gives the number of a removed root event again.
type rootNo uint32

// root is a root event. It is small, as there are far more root events than anything else.
type root struct {
	unnamed *rootName // nil once the root event has an item: then names has the rootName
	first   *addressed
	item    Item   // 0 until a repository has it, so that the roots of one repository lie close together
	next    rootNo // another root event with the same key; for a free number the next free one
}

const rootPage = 256

// roots holds the root events of the fold. Its memory follows the largest number of root events that it ever held.
type roots struct {
	byKey  map[uint32]rootNo // the first root event with that key
	pages  []*[rootPage]root
	given  rootNo // numbers given so far
	free   rootNo // the first number to be given again; 0 = none
	n      int
	others map[rootNo][]*addressed // the addresses after the first, for the few that name several
}

func newRoots() roots {
	return roots{byKey: make(map[uint32]rootNo), others: make(map[rootNo][]*addressed)}
}

// rootKey returns the part of an id by which rootOf finds root events. rootOf walks through root events that share a key. Walking through a
// thousand takes some microseconds, and to make a thousand somebody has to try 2^42 ids.
func rootKey(id nostr.ID) uint32 { return binary.LittleEndian.Uint32(id[:]) }

func (t *roots) at(no rootNo) *root { return &t.pages[no/rootPage][no%rootPage] }

// all yields all root events, in no order.
func (t *roots) all() iter.Seq[*root] {
	return func(yield func(*root) bool) {
		for _, no := range t.byKey {
			for ; no != 0; no = t.at(no).next {
				if !yield(t.at(no)) {
					return
				}
			}
		}
	}
}

// add enters a root event that is not in the fold, and returns its number.
func (t *roots) add(x *rootName) rootNo {
	no := t.free
	if no != 0 {
		t.free = t.at(no).next
	} else {
		t.given++
		if no = t.given; int(no/rootPage) >= len(t.pages) {
			t.pages = append(t.pages, new([rootPage]root))
		}
	}
	key := rootKey(x.id)
	*t.at(no) = root{unnamed: x, next: t.byKey[key]}
	t.byKey[key] = no
	t.n++
	return no
}

// remove takes out the root event with that number and id.
func (t *roots) remove(no rootNo, id nostr.ID) {
	r, key := t.at(no), rootKey(id)
	switch before := t.byKey[key]; {
	case before != no:
		for t.at(before).next != no {
			before = t.at(before).next
		}
		t.at(before).next = r.next
	case r.next != 0:
		t.byKey[key] = r.next
	default:
		delete(t.byKey, key)
	}
	delete(t.others, no)
	*r = root{next: t.free}
	t.free = no
	t.n--
}

// addresses yields the addresses of a root event that note has recorded so far.
func (t *roots) addresses(no rootNo) iter.Seq[*addressed] {
	return func(yield func(*addressed) bool) {
		if first := t.at(no).first; first == nil || !yield(first) {
			return
		}
		for _, n := range t.others[no] {
			if !yield(n) {
				return
			}
		}
	}
}

// note records one more address that a root event names.
func (t *roots) note(no rootNo, n *addressed) {
	if r := t.at(no); r.first == nil {
		r.first = n
	} else {
		t.others[no] = append(t.others[no], n)
	}
}

// nameOf returns the id and the time of a root event.
func (d *Desired) nameOf(r *root) *rootName {
	if r.item == 0 {
		return r.unnamed
	}
	return d.names.root(r.item)
}

// rootOf returns the number of the root event with that id; 0 where the fold does not know it.
func (d *Desired) rootOf(id nostr.ID) rootNo {
	no := d.roots.byKey[rootKey(id)]
	for no != 0 && d.nameOf(d.roots.at(no)).id != id {
		no = d.roots.at(no).next
	}
	return no
}

// number returns the item of a root event that a repository has. A root event without an item gets one now.
func (d *Desired) number(no rootNo) Item {
	r := d.roots.at(no)
	if r.item == 0 {
		d.names, r.item = d.names.addRoot(*r.unnamed)
		r.unnamed = nil
	}
	return r.item
}

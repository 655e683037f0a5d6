package want

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// announced holds what the fold keeps of an announcement. The strings are copies, so that the event itself does not stay in memory.
type announced struct {
	policy.Announcer
	at      nip34.Address
	relays  []URL // the first valid ones, without this service
	private bool  // GRASP-08
}

func (d *Desired) kept(a *nip34.Announcement) *announced {
	at := a.Address
	at.D = strings.Clone(at.D)
	relays := slices.DeleteFunc(grasp.Relays(a, d.bounds.RelaysPerAnnouncement), d.rules.Service.Is)
	return &announced{d.rules.Announcer(a), at, relays, a.Private}
}

// announce puts an announcement in the place of the author's former one.
func (d *Desired) announce(a *announced) {
	old := d.announcement(a.at)
	if old != nil {
		if !a.Stamp().Newer(old.Stamp()) {
			return
		}
		delete(d.byID, old.ID)
	}
	d.byID[a.ID] = a.at
	same := d.byD[a.at.D]
	if i, ok := slices.BinarySearchFunc(same, a.Author, byAnnouncer); ok {
		same[i] = a
	} else {
		d.byD[a.at.D] = slices.Insert(same, i, a)
	}
	d.carryIfFounded(a)
	d.touch(a.at, old)
	if d.rules.Private {
		d.followAgain(a.at.D)
	}
}

func (d *Desired) retract(at nip34.Address, id nostr.ID) {
	old := d.announcement(at)
	delete(d.byID, id)
	drop(d.byD, at.D, at.PubKey, byAnnouncer)
	d.uncarry(at)
	d.touch(at, old)
}

func (d *Desired) announcement(at nip34.Address) *announced {
	return found(d.byD[at.D], at.PubKey, byAnnouncer)
}

func byAnnouncer(a *announced, pk nostr.PubKey) int { return a.Author.Compare(pk) }

func byName(r *repo, name string) int { return strings.Compare(r.d, name) }

// found returns the element of a sorted list with that key; nil if there is none.
func found[E, K any](list []*E, key K, by func(*E, K) int) *E {
	if i, ok := slices.BinarySearchFunc(list, key, by); ok {
		return list[i]
	}
	return nil
}

// drop takes the element with that key out of a sorted list, and takes the list out of lists when it becomes empty.
func drop[L comparable, E, K any](lists map[L][]*E, of L, key K, by func(*E, K) int) {
	list := lists[of]
	i, ok := slices.BinarySearchFunc(list, key, by)
	switch {
	case !ok:
	case len(list) == 1:
		delete(lists, of)
	default:
		lists[of] = slices.Delete(list, i, i+1)
	}
}

// carry makes a repository of the announcement at an address.
func (d *Desired) carry(at nip34.Address) {
	mine := d.byAuthor[at.PubKey]
	if i, ok := slices.BinarySearchFunc(mine, at.D, byName); !ok {
		d.nextOrd++
		d.byAuthor[at.PubKey] = slices.Insert(mine, i, &repo{ord: d.nextOrd, owner: at.PubKey, d: at.D})
	}
}

// carried returns the repository of the announcement at an address; nil where the announcement makes none.
func (d *Desired) carried(at nip34.Address) *repo { return found(d.byAuthor[at.PubKey], at.D, byName) }

func (d *Desired) uncarry(at nip34.Address) {
	r := d.carried(at)
	if r == nil {
		return
	}
	drop(d.byAuthor, at.PubKey, at.D, byName)
	d.release(r)
	if r.item != 0 {
		d.dead++
	}
}

// touched says which announcements with one identifier changed since the last derivation.
type touched struct {
	d   string
	by  map[nostr.PubKey]struct{} // their authors
	all bool                      // one of the authors had declined, so the change may concern any repository
}

// touch notes that another announcement stands at an address; old is the former one, nil if there was none.
func (d *Desired) touch(at nip34.Address, old *announced) {
	t := d.touched[at.D]
	if t == nil {
		t = &touched{d: strings.Clone(at.D), by: make(map[nostr.PubKey]struct{})}
		d.touched[t.d] = t
	}
	t.by[at.PubKey] = struct{}{}
	t.all = t.all || old != nil && old.Declines
}

// among reports whether any of the authors is a member of a repository or invited to it.
func (t *touched) among(people *grasp.Set) bool {
	in := func(list []nostr.PubKey) bool {
		return slices.ContainsFunc(list, func(pk nostr.PubKey) bool { _, ok := t.by[pk]; return ok })
	}
	return in(people.Members) || in(people.Invited)
}

// addressed is an address that a root event names or that belongs to a repository.
type addressed struct {
	at    nip34.Address
	roots []rootNo // root events that name it, in order of arrival
	repos []*repo
}

// addressesPerRoot is how many of the repositories named by one root event count.
const addressesPerRoot = 64

func (d *Desired) addRoot(e *nostr.Event) {
	at := nip34.Repositories(e)
	if len(at) == 0 || d.rootOf(e.ID) != 0 {
		return
	}
	r := d.roots.add(&rootName{e.ID, e.CreatedAt})
	for _, a := range at[:min(len(at), addressesPerRoot)] {
		n := d.address(a)
		for _, repo := range n.repos {
			if !d.has(repo, r) {
				repo.chunks = appendRoot(repo.chunks, d.number(r))
				d.pending[repo] = struct{}{}
			}
		}
		d.roots.note(r, n)
		n.roots = append(n.roots, r)
	}
}

// has reports whether the addresses noted so far for the root event r put r into repo.
func (d *Desired) has(repo *repo, r rootNo) bool {
	for n := range d.roots.addresses(r) {
		if slices.Contains(n.repos, repo) {
			return true
		}
	}
	return false
}

func (d *Desired) removeRoot(no rootNo, id nostr.ID) {
	it := d.roots.at(no).item
	if it != 0 {
		d.dead++
	}
	for n := range d.roots.addresses(no) {
		if i := slices.Index(n.roots, no); i >= 0 {
			n.roots = slices.Delete(n.roots, i, i+1)
		}
		for _, repo := range n.repos {
			repo.chunks = removeRoot(repo.chunks, it)
			d.pending[repo] = struct{}{}
		}
		d.dropAddress(n)
	}
	delete(d.stirred, no)
	d.roots.remove(no, id)
}

func (d *Desired) address(a nip34.Address) *addressed {
	n := d.addresses[a]
	if n == nil {
		a.D = strings.Clone(a.D)
		n = &addressed{at: a}
		d.addresses[a] = n
	}
	return n
}

func (d *Desired) dropAddress(n *addressed) {
	if len(n.roots) == 0 && len(n.repos) == 0 {
		delete(d.addresses, n.at)
	}
}

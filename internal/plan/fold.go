package plan

import (
	"iter"
	"slices"
	"strings"

	"graspd/internal/grasp"
	"graspd/internal/nip34"
	"graspd/internal/nostr"
)

// announced is what the fold keeps of an announcement. Its strings are its
// own, so that the event itself does not stay in memory.
type announced struct {
	nip34.Announcement       // identity, maintainers, roles and fork only
	relays             []URL // the first valid ones, but for this service
	ours               bool  // lists this service
}

func (d *Desired) kept(a *nip34.Announcement) *announced {
	at := a.Address
	at.D = strings.Clone(at.D)
	return &announced{
		Announcement: nip34.Announcement{
			Address: at, ID: a.ID, CreatedAt: a.CreatedAt, Maintainers: a.Maintainers, Roles: a.Roles, Fork: a.Fork,
		},
		relays: slices.DeleteFunc(grasp.Relays(a, d.bounds.RelaysPerAnnouncement), d.service.Is),
		ours:   d.service.Lists(a),
	}
}

// replaces says whether a takes the place of b (NIP-01).
func (a *announced) replaces(b *announced) bool {
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt > b.CreatedAt
	}
	return a.ID.Compare(b.ID) < 0
}

// announce puts an announcement in the place of the author's former one.
func (d *Desired) announce(a *announced) {
	old := d.announcement(a.Address)
	if old != nil {
		if !a.replaces(old) {
			return
		}
		delete(d.byID, old.ID)
	}
	d.byID[a.ID] = a.Address
	if d.byD[a.Address.D] == nil {
		d.byD[a.Address.D] = make(map[nostr.PubKey]*announced)
	}
	d.byD[a.Address.D][a.Address.PubKey] = a
	d.place(a)
	d.touch(a.Address, old)
}

func (d *Desired) retract(at nip34.Address, id nostr.ID) {
	old := d.announcement(at)
	delete(d.byID, id)
	same := d.byD[at.D]
	if delete(same, at.PubKey); len(same) == 0 {
		delete(d.byD, at.D)
	}
	d.uncarry(at)
	d.touch(at, old)
}

func (d *Desired) announcement(at nip34.Address) *announced {
	return d.byD[at.D][at.PubKey]
}

// carry makes an announcement that lists this service a repository.
func (d *Desired) carry(at nip34.Address) {
	mine := d.byAuthor[at.PubKey]
	if mine == nil {
		mine = make(map[string]*repo)
		d.byAuthor[at.PubKey] = mine
	}
	if mine[at.D] == nil {
		d.nextOrd++
		mine[at.D] = &repo{ord: d.nextOrd, owner: at.PubKey, d: at.D}
	}
}

func (d *Desired) uncarry(at nip34.Address) {
	mine := d.byAuthor[at.PubKey]
	r := mine[at.D]
	if r == nil {
		return
	}
	if delete(mine, at.D); len(mine) == 0 {
		delete(d.byAuthor, at.PubKey)
	}
	d.release(r)
	if r.item != 0 {
		d.dead++
	}
}

// touched is the announcements with one d that changed since the last derivation.
type touched struct {
	d   string
	by  map[nostr.PubKey]struct{} // their authors
	all bool                      // one of them had declined: anybody may be concerned
}

// touch notes that the announcement at took the place of old.
func (d *Desired) touch(at nip34.Address, old *announced) {
	t := d.touched[at.D]
	if t == nil {
		t = &touched{d: strings.Clone(at.D), by: make(map[nostr.PubKey]struct{})}
		d.touched[t.d] = t
	}
	t.by[at.PubKey] = struct{}{}
	t.all = t.all || old != nil && (old.Fork || len(old.Roles) > 0)
}

// among says whether any of the authors is one of the people of a repository.
func (t *touched) among(people *grasp.Set) bool {
	in := func(list []nostr.PubKey) bool {
		return slices.ContainsFunc(list, func(pk nostr.PubKey) bool { _, ok := t.by[pk]; return ok })
	}
	return in(people.Members) || in(people.Invited)
}

// root is a root event. All but its item is fixed. There are far more of them than of anything else, so it is small.
type root struct {
	*rootName      // shared with the names: no more of the fold than that stays with an old Want
	item      Item // 0 until a repository has it, so that the roots of one repository lie close together
	first     *addressed
	others    *[]*addressed // nil for a root event that names one address, as nearly all do
}

// rootKey is the part of its id by which a root event is found. With 128 bits nobody can make two meet.
type rootKey [16]byte

func keyOf(id nostr.ID) rootKey { return rootKey(id[:]) }

// at yields the addresses that it names and that were noted so far.
func (r *root) at() iter.Seq[*addressed] {
	return func(yield func(*addressed) bool) {
		if r.first == nil || !yield(r.first) || r.others == nil {
			return
		}
		for _, n := range *r.others {
			if !yield(n) {
				return
			}
		}
	}
}

func (r *root) note(n *addressed) {
	switch {
	case r.first == nil:
		r.first = n
	case r.others == nil:
		r.others = &[]*addressed{n}
	default:
		*r.others = append(*r.others, n)
	}
}

// addressed is one address that something names.
type addressed struct {
	at    nip34.Address
	roots []*root // that name it, in order of arrival
	repos []*repo
}

// addressesPerRoot is how many of the repositories that a root event names count.
const addressesPerRoot = 64

func (d *Desired) addRoot(e *nostr.Event) {
	at := nip34.Repositories(e)
	if len(at) == 0 || d.roots[keyOf(e.ID)] != nil {
		return
	}
	r := &root{rootName: &rootName{e.ID, e.CreatedAt}}
	d.roots[keyOf(e.ID)] = r
	for _, a := range at[:min(len(at), addressesPerRoot)] {
		n := d.address(a)
		for _, repo := range n.repos {
			if !repo.has(r) {
				repo.chunks = appendRoot(repo.chunks, d.number(r))
				d.pending[repo] = struct{}{}
			}
		}
		r.note(n)
		n.roots = append(n.roots, r)
	}
}

// has says whether an address of r noted so far already puts it into repo.
func (repo *repo) has(r *root) bool {
	for n := range r.at() {
		if slices.Contains(n.repos, repo) {
			return true
		}
	}
	return false
}

func (d *Desired) number(r *root) Item {
	if r.item == 0 {
		d.names, r.item = d.names.add(name{root: r.rootName})
	}
	return r.item
}

func (d *Desired) removeRoot(r *root) {
	delete(d.roots, keyOf(r.id))
	if r.item != 0 {
		d.dead++
	}
	for n := range r.at() {
		if i := slices.Index(n.roots, r); i >= 0 {
			n.roots = slices.Delete(n.roots, i, i+1)
		}
		for _, repo := range n.repos {
			repo.chunks = removeRoot(repo.chunks, r.item)
			d.pending[repo] = struct{}{}
		}
		d.dropAddress(n)
	}
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

package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"graspd/internal/grasp"
	"graspd/internal/nip34"
	"graspd/internal/nostr"
)

// repo is a repository whose announcement lists this service.
type repo struct {
	ord    uint32
	owner  nostr.PubKey
	d      string
	people grasp.Set // as of the last derivation
	joined []*addressed
	relays []URL
	chunks []*chunk

	item     Item      // 0: none yet
	addrs    []string  // at the current revision
	revision grasp.Set // the people at the current revision
	revised  time.Duration
	want     *RepoWant
}

type target struct {
	bootstrap bool
	repos     []*repo // by ord
	owners    map[nostr.PubKey]int
}

func (d *Desired) target(u URL) *target {
	t := d.targets[u]
	if t == nil {
		t = &target{owners: make(map[nostr.PubKey]int)}
		d.targets[u] = t
	}
	return t
}

// derivation is one pass over what is stale; it asks once per d who belongs together.
type derivation struct {
	*Desired
	groups map[string]*grasp.Group
}

// derive brings repositories, their root events and their relays up to date
// with the announcements, and makes the new RepoWants. Its cost follows what
// changed: the repositories of the authors concerned.
func (d *Desired) derive(now time.Duration) {
	x := derivation{d, make(map[string]*grasp.Group)}
	for _, pk := range slices.SortedFunc(maps.Keys(d.stale), nostr.PubKey.Compare) {
		x.author(pk)
	}
	d.stale = emptied(d.stale)
	for r := range d.delayed {
		d.pending[r] = struct{}{}
	}
	for _, r := range slices.SortedFunc(maps.Keys(d.pending), byOrd) {
		d.revise(r, now)
	}
	d.pending = emptied(d.pending)
	d.tendNames()
}

// emptied returns an empty set, the same one where it was small: one that was
// large once would take long to go through for ever.
func emptied[K comparable](set map[K]struct{}) map[K]struct{} {
	if len(set) > 16 {
		return make(map[K]struct{})
	}
	clear(set)
	return set
}

func byOrd(a, b *repo) int { return cmp.Compare(a.ord, b.ord) }

// author applies the author's bounds: the first repositories by d, and of them
// the first distinct relays.
func (x derivation) author(pk nostr.PubKey) {
	used := make(map[URL]struct{})
	for i, name := range slices.Sorted(maps.Keys(x.byAuthor[pk])) {
		r := x.byAuthor[pk][name]
		if i >= x.bounds.RepositoriesPerAuthor {
			x.release(r)
			continue
		}
		x.join(r)
		x.assign(r, x.relaysOf(r, used))
		x.pending[r] = struct{}{}
	}
}

// join derives the maintainers of r and the addresses that belong to it.
func (x derivation) join(r *repo) {
	g := x.groups[r.d]
	if g == nil {
		var same []*nip34.Announcement
		for pk := range x.byD[r.d] {
			if a := x.part(pk, r.d); a != nil {
				same = append(same, &a.Announcement)
			}
		}
		g = grasp.NewGroup(same)
		x.groups[r.d] = g
	}
	r.people = g.Maintainers(r.owner)
	var joined []*addressed
	for _, pk := range r.people.Members { // the owner first
		at := nip34.Address{Kind: nip34.KindRepository, PubKey: pk, D: r.d}
		if x.part(pk, r.d) != nil && len(joined) <= x.bounds.MaintainersPerRepository {
			joined = append(joined, x.address(at))
		}
	}
	if !slices.Equal(joined, r.joined) {
		x.attach(r, joined)
	}
}

// attach makes joined the addresses of r and collects their root events.
func (d *Desired) attach(r *repo, joined []*addressed) {
	former := r.joined
	for _, n := range former {
		n.repos = slices.DeleteFunc(n.repos, func(o *repo) bool { return o == r })
	}
	r.joined, r.chunks = joined, nil
	seen := make(map[Item]struct{})
	for _, n := range joined {
		n.repos = append(n.repos, r)
		for _, root := range n.roots {
			it := d.number(root)
			if _, dup := seen[it]; !dup {
				seen[it] = struct{}{}
				r.chunks = appendInPlace(r.chunks, it)
			}
		}
	}
	for _, n := range former {
		d.dropAddress(n)
	}
}

// relaysOf returns the sources of r: its owner's relays, then those of the
// maintainers, without this service, within what is left of the owner's bound.
func (d *Desired) relaysOf(r *repo, used map[URL]struct{}) []URL {
	var out []URL
	for _, n := range r.joined {
		for _, u := range d.announcement(n.at).relays {
			if d.service.Is(u) || slices.Contains(out, u) {
				continue
			}
			if _, ok := used[u]; !ok {
				if len(used) >= d.bounds.RelaysPerAuthor {
					continue
				}
				used[u] = struct{}{}
			}
			out = append(out, u)
		}
	}
	return out
}

// assign makes relays the sources of r.
func (d *Desired) assign(r *repo, relays []URL) {
	for _, u := range r.relays {
		if !slices.Contains(relays, u) {
			d.unassign(r, u)
		}
	}
	for _, u := range relays {
		t := d.target(u)
		if i, ok := slices.BinarySearchFunc(t.repos, r, byOrd); !ok {
			t.repos = slices.Insert(t.repos, i, r)
			t.owners[r.owner]++
			d.affected[u] = struct{}{}
		}
	}
	r.relays = relays
}

func (d *Desired) unassign(r *repo, u URL) {
	t := d.target(u)
	i, ok := slices.BinarySearchFunc(t.repos, r, byOrd)
	if !ok {
		return
	}
	t.repos = slices.Delete(t.repos, i, i+1)
	if t.owners[r.owner]--; t.owners[r.owner] == 0 {
		delete(t.owners, r.owner)
	}
	d.affected[u] = struct{}{}
}

// release takes r out of every Want.
func (d *Desired) release(r *repo) {
	d.assign(r, nil)
	d.attach(r, nil)
	delete(d.pending, r)
	delete(d.delayed, r)
}

// revise makes the RepoWant of r, unless nothing changed. A change of its
// addresses or people is a new revision, which is a new item: what was asked
// for the old one counts no more.
func (d *Desired) revise(r *repo, now time.Duration) {
	addrs := make([]string, len(r.joined))
	for i, n := range r.joined {
		addrs[i] = n.at.String()
	}
	changed := !slices.Equal(addrs, r.addrs) ||
		!slices.Equal(r.people.Members, r.revision.Members) || !slices.Equal(r.people.Invited, r.revision.Invited)
	switch {
	case r.item == 0, changed && now-r.revised >= revisionInterval:
		if r.item != 0 {
			d.dead++
		}
		r.addrs, r.revision, r.revised = addrs, r.people, now
		d.names, r.item = d.names.add(name{repo: newRepository(addrs, r.d)})
		delete(d.delayed, r)
	case changed:
		d.delayed[r] = struct{}{}
	default:
		delete(d.delayed, r)
	}
	if r.want != nil && r.want.Item == r.item && sameChunks(r.want.chunks, r.chunks) {
		return
	}
	r.want = &RepoWant{Item: r.item, Owner: r.owner, chunks: r.chunks, ord: r.ord}
	for _, u := range r.relays {
		d.affected[u] = struct{}{}
	}
}

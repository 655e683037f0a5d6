package want

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// repo is a repository whose announcement lists this service or is archived, or a claim that graspd follows.
type repo struct {
	ord     uint32
	owner   nostr.PubKey
	d       string
	claimed bool       // its announcement waits for git data
	people  *grasp.Set // as of the last derivation, shared with others; nil = none yet
	joined  []*addressed
	sources []*announced // the announcements at the joined addresses
	relays  []URL
	chunks  []*chunk

	item     Item       // 0: none yet
	addrs    []string   // as of the current revision
	revision *grasp.Set // the people as of the current revision
	revised  time.Duration
	want     *RepoWant
}

// derivation is one pass over the stale repositories. It works out the councils once per identifier.
type derivation struct {
	*Desired
	councils map[string]*grasp.Councils
	stale    map[*repo]struct{}    // repositories whose maintainers the pass derives
	authors  map[nostr.PubKey]bool // authors of stale repositories and of changed announcements; true = the pass derives the relays of all their repositories
}

// derive brings repositories, their root events and their relays up to date with the announcements, and makes the new RepoWants. Its cost
// follows the change: the repositories concerned and, where their relays changed, all other repositories of their owners.
func (d *Desired) derive(now time.Duration) {
	x := derivation{d, make(map[string]*grasp.Councils), make(map[*repo]struct{}), make(map[nostr.PubKey]bool)}
	for _, t := range d.touched {
		x.concern(t)
	}
	for _, pk := range slices.SortedFunc(maps.Keys(x.authors), nostr.PubKey.Compare) {
		x.author(pk)
	}
	d.touched = emptied(d.touched)
	for r := range d.delayed {
		d.pending[r] = struct{}{}
	}
	for _, r := range slices.SortedFunc(maps.Keys(d.pending), byOrd) {
		d.revise(r, now)
	}
	d.pending = emptied(d.pending)
	d.tendNames()
}

// emptied returns an empty set. It reuses a small set, but not a large one: a map that was large once takes long to go through for ever.
func emptied[K comparable, V any](set map[K]V) map[K]V {
	if len(set) > 16 {
		return make(map[K]V)
	}
	clear(set)
	return set
}

func byOrd(a, b *repo) int { return cmp.Compare(a.ord, b.ord) }

// concern marks the repositories whose maintainers may differ now that the announcements in t changed: the repositories of the authors of t,
// and those where one of these authors was a member or invited. An author who had declined was in none, so then concern marks all
// repositories with the identifier.
func (x derivation) concern(t *touched) {
	for pk := range t.by {
		x.authors[pk] = true
	}
	known := make(map[*grasp.Set]bool) // most repositories share one Set
	for _, a := range x.byD[t.d] {
		pk, r := a.Author, x.carried(a.at)
		if r == nil {
			continue
		}
		_, concerned := t.by[pk]
		if !concerned && !t.all && r.people != nil {
			var asked bool
			if concerned, asked = known[r.people]; !asked {
				concerned = t.among(r.people)
				known[r.people] = concerned
			}
		}
		if concerned || t.all {
			x.stale[r] = struct{}{}
			if _, ok := x.authors[pk]; !ok {
				x.authors[pk] = false // a maintainer may have changed, though no announcement of the author's did
			}
		}
	}
}

// author applies the bounds of one author: it follows the author's first repositories by identifier, at their first distinct relays.
func (x derivation) author(pk nostr.PubKey) {
	moved := x.authors[pk]
	var within []*repo
	for i, r := range x.byAuthor[pk] {
		if i >= x.bounds.RepositoriesPerAuthor {
			x.release(r)
			continue
		}
		within = append(within, r)
		if _, stale := x.stale[r]; stale || r.joined == nil {
			moved = x.join(r) || moved
			x.pending[r] = struct{}{}
		}
	}
	if !moved {
		return
	}
	used := make(map[URL]struct{})
	for _, r := range within {
		x.assign(r, x.relaysOf(r, used))
	}
}

// join derives the maintainers of r and the addresses that belong to it. It reports whether the announcements at these addresses name other
// relays than before, or became private or public.
func (x derivation) join(r *repo) (moved bool) {
	c := x.councils[r.d]
	if c == nil {
		c = x.Councils(r.d)
		x.councils[r.d] = c
	}
	x.derived++
	r.people = c.Of(r.owner)
	joined := make([]*addressed, 0, min(len(r.people.Members), x.bounds.MaintainersPerRepository+1))
	sources := make([]*announced, 0, cap(joined))
	with := func(pk nostr.PubKey) {
		if a := found(x.byD[r.d], pk, byAnnouncer); a != nil {
			joined, sources = append(joined, x.address(a.at)), append(sources, a)
		}
	}
	with(r.owner)
	for _, pk := range r.people.Members {
		if len(joined) > x.bounds.MaintainersPerRepository {
			break
		}
		if pk != r.owner {
			with(pk)
		}
	}
	if !slices.Equal(joined, r.joined) {
		x.attach(r, joined)
	}
	moved = r.sources == nil || !slices.EqualFunc(sources, r.sources, func(a, b *announced) bool { return a.private == b.private && slices.Equal(a.relays, b.relays) })
	r.sources = sources
	return moved
}

// attach makes joined the addresses of r, and collects their root events.
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

// release takes r out of every Want.
func (d *Desired) release(r *repo) {
	d.assign(r, nil)
	if len(r.joined) > 0 {
		d.attach(r, nil)
	}
	r.sources = nil
	delete(d.pending, r)
	delete(d.delayed, r)
}

// revise makes the RepoWant of r, unless nothing changed. A change of the addresses or the people is a new revision, and that a new item:
// answers for the old item count no more. A new revision waits until revisionInterval after the last.
func (d *Desired) revise(r *repo, now time.Duration) {
	addrs := make([]string, len(r.joined))
	for i, n := range r.joined {
		addrs[i] = n.at.String()
	}
	changed := !slices.Equal(addrs, r.addrs) || !samePeople(r.people, r.revision)
	switch {
	case r.item == 0, changed && now-r.revised >= revisionInterval:
		if r.item != 0 {
			d.dead++
		}
		r.addrs, r.revision, r.revised = addrs, r.people, now
		d.names, r.item = d.names.addRepo(newRepository(addrs, r.d))
		delete(d.delayed, r)
	case changed:
		d.delayed[r] = struct{}{}
	default:
		delete(d.delayed, r)
	}
	if r.want != nil && r.want.Item == r.item && sameChunks(r.want.chunks, r.chunks) {
		return
	}
	r.want = &RepoWant{Item: r.item, Owner: r.owner, chunks: r.chunks, Ord: r.ord}
	for _, u := range r.relays {
		d.target(u).change(r)
		d.affected[u] = struct{}{}
	}
}

func samePeople(a, b *grasp.Set) bool {
	return a == b || a != nil && b != nil && slices.Equal(a.Members, b.Members) && slices.Equal(a.Invited, b.Invited)
}

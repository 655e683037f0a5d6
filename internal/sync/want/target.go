package want

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// target is a relay and the repositories that name it.
type target struct {
	bootstrap bool
	repos     []*repo  // by ord
	ords      []uint32 // of repos; side by side, so that a search is quick
	owners    map[nostr.PubKey]int
	claims    int // how many of repos wait for git data

	wants   []*RepoWant // of repos, as in the Want handed out last; nil when fill has to gather them anew
	edition *edition    // of the Want handed out last
	changed []*repo     // repositories with another RepoWant than in the Want handed out last
}

// change notes that r has another RepoWant than in the Want handed out last.
func (t *target) change(r *repo) {
	if t.wants == nil {
		return
	}
	if t.changed = append(t.changed, r); len(t.changed) > len(t.repos)/2 {
		t.gather()
	}
}

// gather makes fill build the next Want anew from all repositories.
func (t *target) gather() { t.wants, t.edition, t.changed = nil, nil, nil }

// fill gives w its repositories.
func (t *target) fill(w *Want) {
	w.edition, w.from = new(edition), t.edition
	switch {
	case t.wants == nil:
		w.Repos = make([]*RepoWant, len(t.repos))
		for i, r := range t.repos {
			w.Repos[i] = r.want
		}
	case len(t.changed) == 0:
		w.Repos = t.wants
	default:
		w.Repos = slices.Clone(t.wants)
		for _, r := range t.changed {
			i, _ := slices.BinarySearch(t.ords, r.ord)
			if w.Repos[i] != r.want {
				w.Repos[i] = r.want
				w.moved = append(w.moved, i)
			}
		}
		slices.Sort(w.moved)
	}
	t.wants, t.edition, t.changed = w.Repos, w.edition, nil
}

func (d *Desired) target(u URL) *target {
	t := d.targets[u]
	if t == nil {
		t = &target{owners: make(map[nostr.PubKey]int)}
		d.targets[u] = t
	}
	return t
}

// hides reports whether graspd asks for r only at relays that its announcements name, because r is private. Nobody knows yet to whose
// repository a claim belongs, so any private announcement with the same identifier hides a claim.
func (d *Desired) hides(r *repo) bool {
	private := func(a *announced) bool { return a.private }
	return d.rules.Private && (slices.ContainsFunc(r.sources, private) || r.joined == nil && slices.ContainsFunc(d.byD[r.d], private))
}

// relaysOf returns the relays at which graspd asks for r: the bootstrap relays unless r is hidden from them, the owner's relays, then the
// maintainers' relays, without this service. Used holds the distinct relays that count for the owner's bound; bootstrap relays do not count.
func (d *Desired) relaysOf(r *repo, used map[URL]struct{}) []URL {
	out := slices.Clone(d.bootstrap)
	if d.hides(r) {
		out = nil
	}
	for _, a := range r.sources {
		for _, u := range a.relays {
			if slices.Contains(out, u) {
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
	if len(r.sources) == 1 && slices.Equal(out, r.sources[0].relays) {
		return r.sources[0].relays // the same list, to save memory
	}
	return out
}

// assign makes graspd ask for r at these relays and no others.
func (d *Desired) assign(r *repo, relays []URL) {
	for _, u := range r.relays {
		if !slices.Contains(relays, u) {
			d.unassign(r, u)
		}
	}
	for _, u := range relays {
		t := d.target(u)
		if i, ok := slices.BinarySearch(t.ords, r.ord); !ok {
			t.repos, t.ords = slices.Insert(t.repos, i, r), slices.Insert(t.ords, i, r.ord)
			t.gather()
			t.owners[r.owner]++
			if r.claimed {
				t.claims++
			}
			d.affected[u] = struct{}{}
		}
	}
	r.relays = relays
}

func (d *Desired) unassign(r *repo, u URL) {
	t := d.target(u)
	i, ok := slices.BinarySearch(t.ords, r.ord)
	if !ok {
		return
	}
	t.repos, t.ords = slices.Delete(t.repos, i, i+1), slices.Delete(t.ords, i, i+1)
	t.gather()
	if t.owners[r.owner]--; t.owners[r.owner] == 0 {
		delete(t.owners, r.owner)
	}
	if r.claimed {
		t.claims--
	}
	d.affected[u] = struct{}{}
}

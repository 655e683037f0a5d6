package plan

import (
	"slices"

	"graspd/internal/nostr"
)

// target is what names one relay.
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

// relaysOf returns the sources of r: its owner's relays, then those of the
// maintainers, without this service, within what is left of the owner's bound.
func (d *Desired) relaysOf(r *repo, used map[URL]struct{}) []URL {
	var out []URL
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

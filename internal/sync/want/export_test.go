package want

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Left counts everything that d remembers.
func (d *Desired) Left() int {
	return len(d.byD) + len(d.byID) + len(d.byAuthor) + len(d.addresses) + d.roots.n + len(d.targets) +
		len(d.touched) + len(d.pending) + len(d.delayed) + len(d.affected)
}

// Moved returns how many repositories of w are told to be others than in the Want before; false when it is not told.
func (w *Want) Moved() (int, bool) { return len(w.moved), w.from != nil }

// Differ lists what diff reports between two Wants.
func Differ(a, b *Want) (add, sub []Item) {
	Diff(a, b, func(it Item) { add = append(add, it) }, func(it Item) { sub = append(sub, it) })
	return add, sub
}

// SetLeastDead has the table of names swept when more entries than that are dead, and more than half.
func (d *Desired) SetLeastDead(n int) { d.leastDead = n }

// Names counts the entries of the table of names.
func (d *Desired) Names() int { return d.names.count() }

// Names counts the entries of the table that w was made with.
func (w *Want) Names() int { return w.names.count() }

func (t *names) count() int {
	n := 0
	for it := range Item(t.n) {
		if t.repo(it) != nil || t.hasRoot(it) {
			n++
		}
	}
	return n
}

func (t *names) hasRoot(it Item) bool {
	i := int(it / namePage)
	return i < len(t.roots) && t.roots[i] != nil && *t.root(it) != rootName{}
}

// Kept counts the sets of maintainers that are kept.
func (d *Desired) Kept() int {
	seen := make(map[*grasp.Set]bool)
	for _, mine := range d.byAuthor {
		for _, r := range mine {
			seen[r.people] = true
		}
	}
	return len(seen)
}

// Derived counts how often the maintainers of a repository were worked out.
func (d *Desired) Derived() int { return d.derived }

// Check holds everything that d remembers against what lives.
func (d *Desired) Check() error {
	announcements, repos, named := 0, 0, 0
	for name, same := range d.byD {
		announcements += len(same)
		if len(same) == 0 {
			return fmt.Errorf("no announcement of %q is remembered", name)
		}
	}
	targets, addresses := 0, 0
	for _, t := range d.targets {
		if len(t.repos) > 0 || t.bootstrap {
			targets++
		}
		if len(t.owners) > len(t.repos) {
			return fmt.Errorf("%d owners of %d repositories", len(t.owners), len(t.repos))
		}
		if len(t.changed) > 0 || t.wants != nil && len(t.wants) != len(t.repos) {
			return fmt.Errorf("%d repositories changed, %d of %d handed out", len(t.changed), len(t.wants), len(t.repos))
		}
	}
	for pk, mine := range d.byAuthor {
		repos += len(mine)
		for _, r := range mine {
			if r.item != 0 {
				named++
			}
			if found(d.byD[r.d], pk, byAnnouncer) == nil {
				return fmt.Errorf("repository %q without an announcement", r.d)
			}
			addresses += len(r.joined)
		}
	}
	roots := 0
	for _, no := range d.roots.byKey {
		for ; no != 0; no = d.roots.at(no).next {
			addresses += len(slices.Collect(d.roots.addresses(no)))
			if d.roots.at(no).item != 0 {
				named++
			}
			roots++
		}
	}
	if roots != d.roots.n {
		return fmt.Errorf("%d root events of %d are found", roots, d.roots.n)
	}
	for _, b := range []struct {
		what     string
		has, may int
	}{
		{"ids of announcements", len(d.byID), announcements},
		{"authors", len(d.byAuthor), repos},
		{"addresses", len(d.addresses), addresses},
		{"relays", len(d.targets), targets},
		{"identifiers that changed", len(d.touched), 0},
		{"repositories that changed", len(d.pending), 0},
		{"repositories whose revision waits", len(d.delayed), repos},
		{"relays that changed", len(d.affected), 0},
		{"root events that were talked about", len(d.stirred), 0},
		{"pages of activity", len(d.names.activity), len(d.names.roots)},
		{"pages of activity that were remade", d.remade, max(leastStirred, 2*len(d.names.activity))},
		{"names counted", d.names.count(), d.names.kept},
		{"names", d.names.kept, 1 + named + d.dead},
		{"dead names", d.dead, max(d.leastDead, d.names.kept/2)},
	} {
		if b.has > b.may {
			return fmt.Errorf("%s: %d, bounded by %d", b.what, b.has, b.may)
		}
	}
	return nil
}

// Repositories returns how many repositories are carried and how many root
// events are known.
func (d *Desired) Repositories() (repos, roots int) {
	for _, m := range d.byAuthor {
		repos += min(len(m), d.bounds.RepositoriesPerAuthor)
	}
	return repos, d.roots.n
}

// Package refs says which refs a repository has, as a function of what is stored about it, and what a push to it may do (GRASP-01). Signed
// states (NIP-34) are the database of refs; a push brings the objects that a state waits for. The package computes with values alone: the
// caller says which objects are complete on disk. Read Projection first, then Judge.
package refs

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Ref is the full name of a ref, and the object that the ref names.
type Ref struct {
	Name string
	ID   gitwire.ObjectID
}

// Set is refs in the order of the bytes of their names, each name once. Nobody changes a Set, so any number of goroutines may share one.
type Set []Ref

// NewSet makes a Set of refs in any order. Of several refs with one name the first counts.
func NewSet(refs []Ref) Set {
	s := slices.Clone(Set(refs))
	slices.SortStableFunc(s, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return slices.Clip(slices.CompactFunc(s, func(a, b Ref) bool { return a.Name == b.Name }))
}

// Get returns the object that the ref of that name names, the zero id if there is no such ref.
func (s Set) Get(name string) gitwire.ObjectID {
	if i, ok := s.find(name); ok {
		return s[i].ID
	}
	return gitwire.ObjectID{}
}

// find returns the index of a name, or where it would stand, and whether it is there.
func (s Set) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s, name, func(r Ref, name string) int { return strings.Compare(r.Name, name) })
}

// Equal reports whether s and other have the same refs at the same objects.
func (s Set) Equal(other Set) bool { return slices.Equal(s, other) }

// IDs returns the objects that the refs name, each once, in their order.
func (s Set) IDs() []gitwire.ObjectID {
	seen := make(map[gitwire.ObjectID]bool, len(s))
	out := make([]gitwire.ObjectID, 0, len(s))
	for _, r := range s {
		if !seen[r.ID] {
			seen[r.ID] = true
			out = append(out, r.ID)
		}
	}
	return out
}

// with returns s after changes. A change to the zero id deletes.
func (s Set) with(changes Set) Set {
	if len(changes) == 0 {
		return s
	}
	out := make(Set, 0, len(s)+len(changes))
	for _, c := range changes {
		for len(s) > 0 && s[0].Name < c.Name {
			out = append(out, s[0])
			s = s[1:]
		}
		if len(s) > 0 && s[0].Name == c.Name {
			s = s[1:]
		}
		if !c.ID.IsZero() {
			out = append(out, c)
		}
	}
	return append(out, s...)
}

// difference is a ref that names the object a in one set and b in another. The zero id means that the set lacks the ref.
type difference struct {
	name string
	a, b gitwire.ObjectID
}

// differences returns the first refs that differ between two sets, in order and at most most refs, and how many differ in all.
func differences(a, b Set, most int) (first []difference, all int) {
	for len(a) > 0 || len(b) > 0 {
		var d difference
		if len(b) == 0 || len(a) > 0 && a[0].Name <= b[0].Name {
			d.name, d.a = a[0].Name, a[0].ID
		} else {
			d.name = b[0].Name
		}
		if len(b) > 0 && b[0].Name == d.name {
			d.b = b[0].ID
			b = b[1:]
		}
		if !d.a.IsZero() {
			a = a[1:]
		}
		if d.a == d.b {
			continue
		}
		if all++; all <= most {
			first = append(first, d)
		}
	}
	return first, all
}

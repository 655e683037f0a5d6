package gitplan

import (
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Difference says how the branches and tags that another server advertises differ from those that graspd serves.
type Difference struct {
	Lacks  int // refs of graspd whose name the server does not have
	Other  int // refs where the server has another object
	Beside int // refs that the server has and no event that rules here names
}

// Compare compares the refs that graspd serves with those that another server advertises. It leaves out refs of pull requests.
func Compare(ours, theirs *gitwire.Refs) (d Difference) {
	at := map[string]gitwire.ObjectID{}
	for _, r := range theirs.List {
		if ofStates(r.Name) {
			at[r.Name] = r.ID
		}
	}
	for _, r := range ours.List {
		if !ofStates(r.Name) {
			continue
		}
		id, ok := at[r.Name]
		switch {
		case !ok:
			d.Lacks++
		case id != r.ID:
			d.Other++
		}
		delete(at, r.Name)
	}
	d.Beside = len(at)
	return d
}

func ofStates(name string) bool {
	return strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/")
}

// String returns the difference as a sentence for people; "" where there is none.
func (d Difference) String() string {
	var parts []string
	for _, x := range []struct {
		n    int
		text string
	}{{d.Lacks, "lacks %d branches and tags"}, {d.Other, "has other commits at %d"}, {d.Beside, "has %d that are not signed for"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf(x.text, x.n))
		}
	}
	return strings.Join(parts, ", ")
}

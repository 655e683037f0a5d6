package gitread

import (
	"bytes"
	"context"
	"strings"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const mostConflicts = 64 << 10 // bytes of their paths

// MergeBase returns a best common ancestor of two commits; zero where they have none.
func (r *Reader) MergeBase(ctx context.Context, v Visit, a, b gitwire.ObjectID) (gitwire.ObjectID, error) {
	l, err := once(ctx, r, key{repo: v.Repo, what: "merge base", a: a, b: b}, func() (l commitList, err error) {
		out, _, err := r.print(ctx, v, gitproc.MergeBase(a, b), nil, 100)
		if exited(err, 1) {
			return commitList{ids: make([]gitwire.ObjectID, 1)}, nil
		}
		if err == nil {
			l.ids = make([]gitwire.ObjectID, 1)
			l.ids[0], err = gitwire.ParseObjectID(bytes.TrimSpace(out))
		}
		return l, err
	})
	if err != nil {
		return gitwire.ObjectID{}, err
	}
	return l.ids[0], nil
}

// Merged says what becomes of a merge.
type Merged struct {
	Clean     bool
	Conflicts []string // paths
	Cut       bool     // there are more
}

func (m *Merged) bytes() (n int) {
	for _, path := range m.Conflicts {
		n += len(path) + 16
	}
	return n
}

// Merge tries whether two commits merge without conflict. It changes nothing in the repository.
func (r *Reader) Merge(ctx context.Context, v Visit, ours, theirs gitwire.ObjectID) (*Merged, error) {
	return once(ctx, r, key{repo: v.Repo, what: "merge", a: ours, b: theirs}, func() (*Merged, error) {
		f, ended := r.pay(v)
		defer ended()
		out, cut, err := r.disk.Merge(ctx, v.Repo, f, ours, theirs, mostConflicts)
		switch {
		case err == nil && !cut:
			return &Merged{Clean: true}, nil
		case err != nil && !exited(err, 1):
			return nil, err
		}
		m := &Merged{Cut: cut}
		records := strings.Split(string(out), "\x00")
		m.Conflicts = append(m.Conflicts, records[1:max(1, len(records)-1)]...) // behind the id of the tree, and before what was cut
		return m, nil
	})
}

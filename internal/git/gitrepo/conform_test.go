package gitrepo_test

import (
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestDiskConforms(t *testing.T) {
	gitfake.Conform(t, func(t *testing.T) gitfake.Side {
		d, _ := disk(t)
		return gitfake.Side{Repos: d, History: maker{newClone(t)}}
	})
}

// maker makes objects with git.
type maker struct{ c *clone }

func (m maker) Commit(name string, parents ...gitwire.ObjectID) gitwire.ObjectID {
	tree := m.c.git([]byte("100644 blob "+m.Blob(name).String()+"\t"+name+"\n"), "mktree")
	args := []string{"commit-tree", "-m", name}
	for _, p := range parents {
		args = append(args, "-p", p.String())
	}
	return parse(m.c.t, m.c.git(nil, append(args, tree)...))
}

func (m maker) Tag(name string, of gitwire.ObjectID) gitwire.ObjectID { return m.c.tag(name, of) }

func (m maker) Blob(name string) gitwire.ObjectID {
	return parse(m.c.t, m.c.git([]byte(name), "hash-object", "-w", "--stdin"))
}

func (m maker) All(tips, haves []gitwire.ObjectID) []gitwire.ObjectID {
	var expressions []string
	for _, id := range tips {
		expressions = append(expressions, id.String())
	}
	for _, id := range haves {
		expressions = append(expressions, "^"+id.String())
	}
	return m.c.all(expressions...)
}

func (m maker) Pack(ids []gitwire.ObjectID) []byte { return m.c.packOf(ids...) }

func (m maker) Objects(pack []byte) ([]gitwire.ObjectID, error) {
	to := newClone(m.c.t)
	if out, err := gitIn(to.dir, pack, "index-pack", "--stdin"); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return to.ids(to.git(nil, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")), nil
}

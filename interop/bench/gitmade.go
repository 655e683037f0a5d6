package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/graspd/graspd/internal/gitwire"
)

// made is a bare repository that was made here, in one pack.
type made struct {
	dir  string
	refs map[string]gitwire.ObjectID // to be pushed at first
	next []gitwire.ObjectID          // commits on main to be pushed after that, one by one
	main gitwire.ObjectID
}

const mainRef = "refs/heads/main"

// makeRepository makes one with so many commits and refs, and commits that come later.
func (w *world) makeRepository(ctx context.Context, name string, commits, refs, later int) (*made, error) {
	w.say("a repository of %d commits", commits)
	m := &made{dir: w.path(name + ".git"), refs: map[string]gitwire.ObjectID{}}
	if err := os.MkdirAll(m.dir, 0o750); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		in   []byte
		args []string
	}{
		{nil, []string{"init", "-q", "--bare", "-b", "main"}},
		{history(commits + later), []string{"fast-import", "--quiet"}},
	} {
		if _, _, err := git(ctx, m.dir, bytes.NewReader(x.in), x.args...); err != nil {
			return nil, err
		}
	}
	out, _, err := git(ctx, m.dir, nil, "rev-list", "--reverse", "main")
	if err != nil {
		return nil, err
	}
	var ids []gitwire.ObjectID
	for line := range strings.FieldsSeq(out) {
		id, err := gitwire.ParseObjectID(line)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	m.main, m.next = ids[commits-1], ids[commits:]
	m.refs[mainRef] = m.main
	for i := 1; i < refs; i++ {
		m.refs[fmt.Sprintf("refs/heads/branch-%d", i)] = m.main
	}
	_, _, err = git(ctx, m.dir, nil, "repack", "-a", "-d", "-f", "-q")
	return m, err
}

// history is a stream for fast-import: each commit changes a line of one of the files, of which there are ever more.
func history(commits int) []byte {
	const lines = 60
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("%x", r.Uint32()>>(4*r.IntN(6))) }
	var files [][]string
	var b bytes.Buffer
	for n := range commits {
		i := r.IntN(n/10 + 1)
		if i >= len(files) {
			i = len(files)
			files = append(files, make([]string, lines))
			for k := range files[i] {
				files[i][k] = fmt.Sprint("line ", k, " has ", word(), " and ", word(), " and ", word())
			}
		}
		files[i][r.IntN(lines)] = fmt.Sprint("now it has ", word(), " and ", word(), " of ", n)
		text, subject := strings.Join(files[i], "\n")+"\n", fmt.Sprint("change ", n, " of ", word(), "\n")
		fmt.Fprintf(&b, "commit %s\ncommitter a <a@example.org> %d +0000\ndata %d\n%s", mainRef, 1_700_000_000+60*n, len(subject), subject)
		fmt.Fprintf(&b, "M 100644 inline dir-%d/file-%d\ndata %d\n%s\n", i%20, i, len(text), text)
	}
	return b.Bytes()
}

// packOf is a pack with what a commit reaches and another one does not, which is null for nothing.
func (m *made) packOf(ctx context.Context, tip, not gitwire.ObjectID) ([]byte, error) {
	revs := tip.String() + "\n"
	if !not.IsZero() {
		revs += "^" + not.String() + "\n"
	}
	out, _, err := git(ctx, m.dir, strings.NewReader(revs), "pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q")
	return []byte(out), err
}

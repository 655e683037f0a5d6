package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// made is a bare repository that was made here, in one pack.
type made struct {
	dir  string
	refs map[string]gitwire.ObjectID // to be pushed at first
	next []gitwire.ObjectID          // commits on main to be pushed after that, one by one
	main gitwire.ObjectID
}

const mainRef = "refs/heads/main"

// recipe is what a repository that is made has.
type recipe struct {
	commits  int
	branches int // beside main, all where it is
	later    int // commits that come later
	ballast  int // bytes that each commit adds and that do not compress
	wide     int // files in one folder, which the first commit brings
}

func (w *world) makeRepository(ctx context.Context, name string, of recipe) (*made, error) {
	w.say("a repository of %d commits", of.commits)
	m := &made{dir: w.path(name + ".git"), refs: map[string]gitwire.ObjectID{}}
	if err := os.MkdirAll(m.dir, 0o750); err != nil {
		return nil, err
	}
	if _, _, err := git(ctx, m.dir, nil, "init", "-q", "--bare", "-b", "main"); err != nil {
		return nil, err
	}
	in, writes := io.Pipe()
	go func() { writes.CloseWithError(of.history(writes)) }()
	_, _, err := git(ctx, m.dir, in, "fast-import", "--quiet")
	in.Close() // for a git that ends early
	if err != nil {
		return nil, err
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
	m.main, m.next = ids[of.commits-1], ids[of.commits:]
	m.refs[mainRef] = m.main
	for i := range of.branches {
		m.refs[fmt.Sprintf("refs/heads/branch-%d", i+1)] = m.main
	}
	_, _, err = git(ctx, m.dir, nil, "repack", "-a", "-d", "-f", "-q")
	return m, err
}

// history writes a stream for fast-import: each commit changes a line of one of the files, of which there are ever more.
func (of recipe) history(to io.Writer) error {
	const lines = 60
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("%x", r.Uint32()>>(4*r.IntN(6))) }
	var files [][]string
	random := make([]byte, (of.ballast+7)/8*8)
	b := bufio.NewWriter(to)
	for n := range of.commits + of.later {
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
		fmt.Fprintf(b, "commit %s\ncommitter a <a@example.org> %d +0000\ndata %d\n%s", mainRef, 1_700_000_000+60*n, len(subject), subject)
		fmt.Fprintf(b, "M 100644 inline dir-%d/file-%d\ndata %d\n%s\n", i%20, i, len(text), text)
		if n == 0 {
			for k := range of.wide {
				fmt.Fprintf(b, "M 100644 inline wide/%d\ndata 1\n%d\n", k, k%10)
			}
		}
		if of.ballast > 0 {
			for k := 0; k < len(random); k += 8 {
				binary.LittleEndian.PutUint64(random[k:], r.Uint64())
			}
			fmt.Fprintf(b, "M 100644 inline pictures/%d\ndata %d\n%s\n", n%500, of.ballast, random[:of.ballast])
		}
	}
	return b.Flush() // which tells of any write that failed
}

// packOf is a pack with what a commit reaches and another one does not, which is null for nothing.
func (m *made) packOf(ctx context.Context, tip, not gitwire.ObjectID) ([]byte, error) {
	var out bytes.Buffer
	_, err := m.packTo(ctx, &out, tip, not)
	return out.Bytes(), err
}

// packTo writes such a pack, and tells what that took of the processor.
func (m *made) packTo(ctx context.Context, out io.Writer, tip, not gitwire.ObjectID) (time.Duration, error) {
	revs := tip.String() + "\n"
	if !not.IsZero() {
		revs += "^" + not.String() + "\n"
	}
	c, err := gitTo(ctx, m.dir, out, strings.NewReader(revs), "pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q")
	return c.cpu, err
}

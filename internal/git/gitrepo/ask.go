package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Bounds of what one process does for a page.
const (
	pageTime = 10 * time.Second
	pageCPU  = 3 * time.Second
)

// For says for whom a page is made.
type For struct {
	Party string // see gitproc.Run
	Now   bool   // fail with gitproc.ErrBusy instead of waiting for a slot
	Began func() // see gitproc.Run
}

// Object is what git says of an object. Kind is "" for one that is not there.
type Object struct {
	Kind     string // blob, tree, commit or tag
	Size     int64
	Contents []byte // nil where they were not asked for, or are too large
}

// Asking asks one process of git about the objects of a repository. Only the function that got it may use it.
type Asking struct {
	x      inspection
	pause  func(struct{}) bool // until the questions are answered; false where they will not be
	resume func() error
}

var errNotAnswered = errors.New("git did not answer all it was asked")

// Ask has do ask about objects. The first question starts a process, which ends with do. Ask fails with the error of do, or with that of the
// process.
func (d *Disk) Ask(ctx context.Context, repo ID, f For, do func(*Asking) error) error {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	a := &Asking{}
	var err error
	over := false
	next, stop := iter.Pull(func(pause func(struct{}) bool) {
		a.pause = pause
		err = do(a)
		over = true
	})
	defer stop()
	a.x.questions = newQuestions(ctx)
	if next(); over {
		return err
	}
	a.resume = func() error {
		if next(); over {
			a.x.questions.end()
		}
		return err
	}
	a.x.next = a.resume
	failed := d.page(ctx, repo, gitproc.Inspect(), gitproc.Run{Party: f.Party, AtOnce: f.Now, Began: f.Began, In: &a.x.questions, Out: &a.x, Prompt: true, Ended: a.x.questions.end})
	if over && err != nil {
		return err
	}
	if failed == nil && !over {
		failed = fmt.Errorf("repository %s: %w", repo, errNotAnswered)
	}
	return failed
}

// Stat returns what the objects are, in the order of the ids.
func (a *Asking) Stat(ids ...gitwire.ObjectID) ([]Object, error) {
	all := make([]Object, 0, len(ids))
	for _, id := range ids {
		a.x.info(id, "", func(o object) error {
			all = append(all, Object{Kind: o.kind, Size: o.size})
			return nil
		})
	}
	return all, a.answers()
}

// Read returns objects with the contents of those that have at most so many bytes, in the order of the ids.
func (a *Asking) Read(most int64, ids ...gitwire.ObjectID) ([]Object, error) {
	all, err := a.Stat(ids...)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if o := &all[i]; o.Kind != "" && o.Size <= most {
			a.x.read(id, "", func(got object) error {
				o.Contents = append([]byte{}, got.contents...)
				return nil
			})
		}
	}
	return all, a.answers()
}

// short matches what may be the beginning of the id of a commit.
var short = regexp.MustCompile(`^[0-9a-f]{7,12}$`)

// Commits returns the commits whose ids begin with 7 to 12 hexadecimal digits, in the order of these beginnings: a zero id where no commit has it, or
// several have.
func (a *Asking) Commits(beginnings ...string) ([]gitwire.ObjectID, error) {
	all := make([]gitwire.ObjectID, len(beginnings))
	for i, digits := range beginnings {
		if !short.MatchString(digits) {
			continue
		}
		a.x.commit(digits, func(o object) (err error) {
			if o.kind == "commit" && strings.HasPrefix(o.name, digits) { // else git has found a ref of that name, or a tag
				all[i], err = gitwire.ParseObjectID(o.name)
			}
			return err
		})
	}
	return all, a.answers()
}

// answers waits until all questions are answered.
func (a *Asking) answers() error {
	if len(a.x.expected) == 0 {
		return nil
	}
	a.x.round(a.resumed)
	if !a.pause(struct{}{}) {
		return errNotAnswered
	}
	return nil
}

func (a *Asking) resumed() error { return a.resume() }

// Print runs a command that reads a repository for a page, as long work, and returns at most so many bytes of what it prints; cut says that there were more. What
// git prints before it fails is returned too.
func (d *Disk) Print(ctx context.Context, repo ID, f For, c gitproc.Command, in []byte, most int) (out []byte, cut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	w := &cutting{most: most}
	err = d.page(ctx, repo, c, gitproc.Run{Party: f.Party, Long: true, AtOnce: f.Now, Began: f.Began, In: bytes.NewReader(in), Out: w})
	if w.cut {
		err = nil
	}
	return w.b, w.cut, err
}

// Merge merges two commits in a directory of its own, which it drops, and returns what gitproc.Merge prints.
func (d *Disk) Merge(ctx context.Context, repo ID, f For, ours, theirs gitwire.ObjectID, most int) (out []byte, cut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	q, err := d.newQuarantine(repo)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	q.long = true
	w := &cutting{most: most}
	err = q.run(ctx, gitproc.Merge(ours, theirs), gitproc.Run{Party: f.Party, AtOnce: f.Now, Began: f.Began, CPU: pageCPU, MaxFile: mergedFile, Out: w})
	if w.cut {
		err = nil
	}
	return w.b, w.cut, err
}

const mergedFile = 16 << 20 // bytes of a file that a merge writes

// page runs git in a repository for a page. Such work reads little of it, however large it is.
func (d *Disk) page(ctx context.Context, repo ID, c gitproc.Command, r gitproc.Run) error {
	there, err := d.packs.known(repo)
	if err == nil && !there {
		err = ErrNoRepository
	}
	if err == nil {
		r.Kind, r.CPU, r.Owner, r.Reads = gitproc.Fetch, pageCPU, repo.String(), 1
		r.At = gitproc.Dirs{Repository: d.dir.abs(repo.path())}
		err = d.run(ctx, c, r, repo)
	}
	if err != nil {
		return fmt.Errorf("repository %s: %w", repo, err)
	}
	return nil
}

// cutting keeps the first bytes that are written to it, and fails at more.
type cutting struct {
	most int
	b    []byte
	cut  bool
}

func (w *cutting) Write(b []byte) (int, error) {
	n := min(len(b), w.most-len(w.b))
	w.b = append(w.b, b[:n]...)
	if n < len(b) {
		w.cut = true
		return n, io.ErrShortWrite
	}
	return n, nil
}

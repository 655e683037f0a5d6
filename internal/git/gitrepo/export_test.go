package gitrepo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// BeforeChange has a function called before each change of a file.
func (d *Disk) BeforeChange(do func()) { d.dir.changes = do }

// BeforeSync has a function called before each file or directory is made durable.
func (d *Disk) BeforeSync(do func(name string)) { d.dir.syncs = do }

// BeforeRead has a function called before a directory, the index of a pack, or which packs are gone, is read, and before a file is copied.
func (d *Disk) BeforeRead(do func(name string)) { d.dir.reads = do }

// Reading counts a reader of a repository until end.
func (d *Disk) Reading(repo ID) (end func()) {
	done := d.inUse.read(repo)
	return func() { done() }
}

// ReadingAll counts a reader of a repository, all of whose packs are here.
func (d *Disk) ReadingAll(repo ID) (end func(), err error) {
	return d.reading(context.Background(), repo, fair.Party{})
}

// Locked reports whether somebody changes files of a repository.
func (d *Disk) Locked(repo ID) bool {
	r := d.inUse.hold(repo)
	defer d.inUse.release(repo, r)
	if !r.change.TryLock() {
		return true
	}
	r.change.Unlock()
	return false
}

// Silent reports whether nobody is told at the moment which objects are here.
func (d *Disk) Silent() bool {
	if !d.confirmed.swap.TryRLock() {
		return true
	}
	d.confirmed.swap.RUnlock()
	return false
}

// Described follows tags from ids, with answers in the place of git's, and returns how many questions that took, how many rounds, and what is at
// the end of each tip.
func Described(ids []gitwire.ObjectID, answer func(id string) (kind string, contents []byte)) (questions, rounds int, peeled map[gitwire.ObjectID]gitwire.ObjectID, err error) {
	x := &description{kinds: map[gitwire.ObjectID]string{}, names: map[gitwire.ObjectID]gitwire.ObjectID{}}
	x.questions = newQuestions(context.Background())
	x.level(ids, 0)
	for in := bufio.NewReader(&x.questions); ; {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			break
		}
		command, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		if command == "flush" {
			rounds++
			continue
		}
		questions++
		kind, contents := answer(id)
		out := fmt.Appendf(nil, "%s %s %d\n", id, kind, len(contents))
		if command == "contents" {
			out = append(append(out, contents...), '\n')
		}
		if _, err := x.Write(out); err != nil {
			return questions, rounds, nil, err
		}
	}
	peeled, err = x.peeled(ids, true)
	return questions, rounds, peeled, err
}

// Weigh reports whether a pack is much work, and whether git has to tell whether all objects may be as large as they are.
func Weigh(ctx context.Context, pack io.Reader) (heavy, unknown bool, err error) {
	w, err := weigh(ctx, pack)
	return w.heavy, w.unknown, err
}

// Long reports whether a pack is more work than a slot of git's processes is kept for.
func Long(ctx context.Context, pack io.Reader) (bool, error) {
	w, err := weigh(ctx, pack)
	return w.long, err
}

// IsLong reports whether processes of a quarantine leave the slot that is kept.
func IsLong(q Quarantine) bool { return q.(*quarantine).long }

// Bound sets how many bytes of packs lie on the disk.
func (d *Disk) Bound(n int64) {
	d.local.mu.Lock()
	defer d.local.mu.Unlock()
	d.local.most = n
}

// Fetches is the account of fetches.
func (d *Disk) Fetches() *fair.Account { return d.local.places }

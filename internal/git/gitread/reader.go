package gitread

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/lru"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

var (
	// ErrNothing says that there is no such object, or nothing at that path.
	ErrNothing = errors.New("there is no such object")
	// ErrCostly says that git would take more time, memory or text than a page is worth.
	ErrCostly = errors.New("this takes git too much work")
)

const (
	keptBytes  = 32 << 20
	keptEntry  = 200 // bytes of an entry beside its text
	failedFor  = 10 * time.Minute
	steps      = 5000 // that a process costs before it starts, as much as one request
	mostObject = 1 << 20
)

// Visit says in which repository somebody reads, for whom, and who pays.
type Visit struct {
	Repo gitrepo.ID
	For  gitrepo.For
	// Charge hears of the work in steps, of which a microsecond is one; nil where nobody pays.
	Charge func(steps int)
}

func (v Visit) charge(n int) {
	if v.Charge != nil {
		v.Charge(n)
	}
}

// Reader reads repositories. Any number of goroutines may use it.
type Reader struct {
	disk *gitrepo.Disk
	now  func() time.Time

	mu     sync.Mutex
	kept   *lru.Cache[key, kept]
	making map[key]chan struct{} // closed when it was made, or could not be
}

// key names something that never changes.
type key struct {
	repo gitrepo.ID
	what string
	a, b gitwire.ObjectID
	n    int
}

type kept struct {
	value any
	err   error // ErrCostly, until a time
	until time.Time
}

// New prepares a reader of the repositories on a disk. A nil now is time.Now.
func New(disk *gitrepo.Disk, now func() time.Time) *Reader {
	if now == nil {
		now = time.Now
	}
	return &Reader{disk: disk, now: now, kept: lru.New[key, kept](keptBytes), making: map[key]chan struct{}{}}
}

func (r *Reader) get(k key) (x kept, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(k)
}

// find does the work of get. The caller holds mu.
func (r *Reader) find(k key) (x kept, ok bool) {
	x, ok = r.kept.Get(k)
	return x, ok && (x.err == nil || r.now().Before(x.until))
}

func (r *Reader) put(k key, x kept, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept.Put(k, x, keptEntry+len(k.what)+bytes)
}

// once returns what is kept under a key, or makes it and keeps it: for all who ask meanwhile it is made once. It keeps that something took too much
// work, too.
func once[T interface{ bytes() int }](ctx context.Context, r *Reader, k key, do func() (T, error)) (value T, err error) {
	for {
		x, others, ok := r.begin(k)
		if ok {
			value, _ = x.value.(T)
			return value, x.err
		}
		if others == nil {
			break
		}
		select {
		case <-others:
		case <-ctx.Done():
			return value, context.Cause(ctx)
		}
	}
	defer r.end(k)
	value, err = do()
	err = costly(err)
	switch {
	case err == nil:
		r.put(k, kept{value: value}, value.bytes())
	case errors.Is(err, ErrCostly):
		r.put(k, kept{err: err, until: r.now().Add(failedFor)}, 0)
	}
	return value, err
}

func (r *Reader) begin(k key) (x kept, others chan struct{}, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x, ok = r.find(k); ok {
		return x, nil, true
	}
	if others = r.making[k]; others == nil {
		r.making[k] = make(chan struct{})
	}
	return x, others, false
}

func (r *Reader) end(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.making[k])
	delete(r.making, k)
}

// costly makes ErrCostly of what a limit has ended, and ErrBusy of what waited until its time was over.
func costly(err error) error {
	var failed *gitproc.Error
	switch {
	case errors.As(err, &failed) && failed.Ending.ByLimit():
		return fmt.Errorf("%w: %w", ErrCostly, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", gitproc.ErrBusy, err)
	}
	return err
}

// print has git print something.
func (r *Reader) print(ctx context.Context, v Visit, c gitproc.Command, in []byte, most int) (out []byte, cut bool, err error) {
	f, ended := r.pay(v)
	defer ended()
	return r.disk.Print(ctx, v.Repo, f, c, in, most)
}

// pay returns for whom a process runs, who pays once it may start; the caller calls ended when it has ended, which charges for the time since then. Who
// waits for a slot pays nothing for that.
func (r *Reader) pay(v Visit) (f gitrepo.For, ended func()) {
	f = v.For
	var begun time.Time
	f.Began = func() {
		v.charge(steps)
		begun = r.now()
	}
	return f, func() {
		if !begun.IsZero() {
			v.charge(int(r.now().Sub(begun) / time.Microsecond))
		}
	}
}

// exited reports whether git ended with a code of its own.
func exited(err error, code int) bool {
	var failed *gitproc.Error
	return errors.As(err, &failed) && failed.Ending == gitproc.Exited && failed.Code == code
}

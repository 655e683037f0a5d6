package hosting

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// kind is the sort of a job.
type kind uint8

const (
	changed kind = iota // the row of a repository has changed: write its files
	shared              // the row has changed: copy to the repositories that the same state rules
	lost                // a contributed repository lacks tips that announced ones have here: copy those back
	found               // the event of an upload's tip has come: take the tip into the repository
	dropped             // an upload no longer waits for any event: remove it
	seen                // a repository is done: tidy its row
)

// job is work that a commit of the log leaves.
type job struct {
	kind   kind
	of     nip34.Address
	upload uint64
	event  nostr.ID
}

// ofRepository reports whether a job is about a repository in the state in which the job finds it. One such job in the queue stands for any number.
func (x job) ofRepository() bool { return x.kind == changed || x.kind == shared || x.kind == lost }

// jobs has the jobs that wait. The numbers of repositories and of uploads bound them.
type jobs struct {
	mu     sync.Mutex
	list   []job
	queued map[job]bool // the jobs of repositories that wait
	tidy   bool         // a job seen was put since untidy was called
	wake   chan struct{}
}

func (j *jobs) init() { j.queued, j.wake = map[job]bool{}, make(chan struct{}, 1) }

func (j *jobs) push(x job) {
	j.mu.Lock()
	switch {
	case x.kind == seen:
		j.tidy = true
	case x.ofRepository() && j.queued[x]:
	default:
		if x.ofRepository() {
			j.queued[x] = true
		}
		j.list = append(j.list, x)
	}
	j.mu.Unlock()
	j.stir()
}

// stir wakes who does the jobs.
func (j *jobs) stir() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *jobs) pop() (x job, ok bool) {
	return j.take(func([]job) int { return 0 })
}

// take takes out the job that choose names of those that wait; -1 is none of them.
func (j *jobs) take(choose func([]job) int) (x job, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.list) == 0 {
		return x, false
	}
	i := choose(j.list)
	if i < 0 {
		return x, false
	}
	x = j.list[i]
	j.list = slices.Delete(j.list, i, i+1)
	if x.ofRepository() {
		delete(j.queued, x)
	}
	return x, true
}

// untidy reports whether a job seen was put since the last call.
func (j *jobs) untidy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	due := j.tidy
	j.tidy = false
	return due
}

const (
	tidyAfter  = time.Second    // from when files were written until the rows say so
	lookEvery  = time.Minute    // between two looks for uploads whose time is over
	sweepEvery = time.Hour      // between two looks for repositories whose announcements have gone
	goneFor    = 24 * time.Hour // from when an announcement went until the repository goes to the trash
)

// Run does the jobs that commits leave, and combines packs, until ctx ends. It begins with the files that the last run has left.
func (h *Host) Run(ctx context.Context) error {
	h.report("the refs' files", h.catchUp())
	h.report("what waits", h.resume(ctx))
	var g sync.WaitGroup
	g.Go(func() { h.attend(ctx) })
	g.Go(func() { h.adoptAll(ctx) })
	for range copyWorkers {
		g.Go(func() { h.lead(ctx) })
	}
	g.Go(func() { h.maintain(ctx) })
	g.Wait()
	h.report("the refs' files", h.tidy(context.WithoutCancel(ctx))) // so that the next start has nothing to do
	return nil
}

// lead does the jobs that copy, one for each payer at a time. Nothing else waits for these, as they may take long.
func (h *Host) lead(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var later backlog
	for ctx.Err() == nil {
		var done func(time.Time)
		x, ok := h.copies.take(func(list []job) (i int) {
			i, done = h.payers.choose(h.cfg.Now(), list)
			return i
		})
		if ok {
			h.copies.stir() // another one may be done beside it
			h.try(ctx, x, &later)
			done(h.cfg.Now())
			continue
		}
		select {
		case <-h.copies.wake:
		case <-look.C:
			later.again(&h.copies)
		case <-ctx.Done():
		}
	}
}

// try does a job. A job that fails and may succeed later goes to the backlog.
func (h *Host) try(ctx context.Context, x job, later *backlog) {
	if later.holdsUp(x) {
		*later = append(*later, x)
		return
	}
	err := h.do(ctx, x)
	if !errors.Is(err, gitproc.ErrBusy) && !postponed(err) {
		h.report("git data", err)
	}
	if err != nil && !hopeless(err) {
		*later = append(*later, x)
	}
}

// adoptAll does the jobs of uploads. They have a goroutine of their own, so that files of refs do not wait for the proof of an upload.
func (h *Host) adoptAll(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var later backlog
	for ctx.Err() == nil {
		h.hear()
		if x, ok := h.adopts.pop(); ok {
			h.try(ctx, x, &later)
			continue
		}
		select {
		case <-h.adopts.wake:
		case <-h.ledger.MoreOutcomes():
		case <-look.C:
			later.again(&h.adopts)
			h.report("uploads", h.expireUploads(ctx))
		case <-ctx.Done():
		}
	}
}

// attend does all other jobs.
func (h *Host) attend(ctx context.Context) {
	look, sweep := time.NewTicker(lookEvery), time.NewTicker(sweepEvery)
	defer look.Stop()
	defer sweep.Stop()
	tidy := time.NewTimer(tidyAfter)
	defer tidy.Stop()
	var later backlog
	round := round{least: roundPart}
	for ctx.Err() == nil {
		h.report("changed repositories", h.rows.take(h))
		if x, ok := h.jobs.pop(); ok {
			h.try(ctx, x, &later)
			continue
		}
		select {
		case <-h.jobs.wake:
		case <-h.rows.more:
		case <-tidy.C:
			if h.jobs.untidy() {
				h.report("the refs' files", h.tidy(ctx))
			}
			tidy.Reset(tidyAfter)
		case <-look.C:
			later.again(&h.jobs)
			h.report("the trash", h.shrinkTrash(ctx))
		case <-sweep.C:
			h.report("repositories that have gone", h.sweep(ctx))
			h.report("repositories to look at", round.goOn(h, h.cfg.Now(), h.visited.add))
		case <-ctx.Done():
		}
	}
}

// backlog has the jobs that failed, in their order. The next look tries them again, as the cause may have been a full queue or disk.
type backlog []job

// holdsUp reports whether a job has to wait for one that failed: an upload is dropped only when its tips have been taken from it.
func (b backlog) holdsUp(x job) bool {
	return x.kind == dropped && slices.ContainsFunc(b, func(y job) bool { return y.kind == found && y.upload == x.upload })
}

// again puts the backlog back into the queue.
func (b *backlog) again(to *jobs) {
	for _, x := range *b {
		to.push(x)
	}
	*b = nil
}

// report logs an error, unless it is that of a context that has ended.
func (h *Host) report(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, ingest.ErrStopped) {
		h.cfg.Logger.Error("work that follows stored events failed", "part", what, "error", err)
	}
}

func (h *Host) do(ctx context.Context, x job) error {
	switch x.kind {
	case changed:
		if err := h.project(ctx, x.of); err != nil {
			return err
		}
		h.copies.push(job{kind: shared, of: x.of})
	case shared:
		return h.share(ctx, x.of)
	case lost:
		return h.restore(ctx, x.of, copier{party: unknownPayer})
	case found:
		return h.adopt(ctx, x.of, x.upload, x.event)
	case dropped:
		return h.release(x.upload)
	}
	return nil
}

// share copies a changed repository to those that follow it. Where it does not finish, the next start copies again.
func (h *Host) share(ctx context.Context, of nip34.Address) error {
	generation := h.files.at(of)
	follow := h.align
	if grasp.IsContributed(of) {
		follow = h.mirror
	}
	by := h.payers.party(of)
	done, err := follow(ctx, of, copier{party: by})
	if done {
		h.payers.copied(of, by)
		h.files.saw(of, generation)
		h.jobs.push(job{kind: seen})
	}
	return err
}

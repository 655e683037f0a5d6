package hosting

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
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

// jobs has the jobs that wait. The numbers of repositories and of uploads bound them. Each party has one job done at a time, in the order in which its
// jobs came; of several, the party goes first that had jobs done for the least time lately.
type jobs struct {
	party func(job) string // who has a job done; nil is one party for all

	mu     sync.Mutex // guards the fields below
	list   []job
	failed []job        // jobs that failed, in their order: the cause may have been a full queue or disk
	queued map[job]bool // the jobs of repositories that wait
	busy   map[string]bool
	use    bucket.Usage[string]
	tidy   bool // a job seen was put since untidy was called
	wake   chan struct{}
}

func (j *jobs) init(party func(job) string) {
	j.party, j.queued, j.busy, j.wake = party, map[job]bool{}, map[string]bool{}, make(chan struct{}, 1)
}

func (j *jobs) push(x job) {
	j.mu.Lock()
	if x.kind == seen {
		j.tidy = true
	} else {
		j.add(x)
	}
	j.mu.Unlock()
	j.stir()
}

// add puts a job last. The caller holds mu.
func (j *jobs) add(x job) {
	if x.ofRepository() && j.queued[x] {
		return
	}
	if x.ofRepository() {
		j.queued[x] = true
	}
	j.list = append(j.list, x)
}

// stir wakes who does the jobs.
func (j *jobs) stir() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// next takes out the job whose turn it is. The caller calls done at its end; done is nil where there is none.
func (j *jobs) next(now time.Time) (x job, done func(time.Time)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	best, by, least := -1, "", 0
	for i, x := range j.list {
		if best >= 0 && least == 0 {
			break
		}
		who := j.who(x)
		if j.busy[who] {
			continue
		}
		if took := j.use.Seconds(now, who); best < 0 || took < least {
			best, by, least = i, who, took
		}
	}
	if best < 0 {
		return x, nil
	}
	x = j.list[best]
	j.list = slices.Delete(j.list, best, best+1)
	if x.ofRepository() {
		delete(j.queued, x)
	}
	j.busy[by] = true
	return x, func(at time.Time) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.busy, by)
		if j.party != nil {
			j.use.Add(at, by, at.Sub(now))
		}
	}
}

func (j *jobs) who(x job) string {
	if j.party == nil {
		return ""
	}
	return j.party(x)
}

// fail keeps a job that failed for the next call of again.
func (j *jobs) fail(x job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = append(j.failed, x)
}

// again puts the jobs that failed back into the queue.
func (j *jobs) again() {
	j.mu.Lock()
	for _, x := range j.failed {
		j.add(x)
	}
	j.failed = nil
	j.mu.Unlock()
	j.stir()
}

// holdsUp reports whether a job has to wait for one that failed: an upload is dropped only when its tips have been taken from it.
func (j *jobs) holdsUp(x job) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return x.kind == dropped && slices.ContainsFunc(j.failed, func(y job) bool { return y.kind == found && y.upload == x.upload })
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
	workers    = 4              // of copies, and of uploads, each for another party: one that takes long holds up only who asked for it
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
	g.Go(func() { h.hearAndLook(ctx) })
	for range workers {
		g.Go(func() { h.work(ctx, &h.copies) })
		g.Go(func() { h.work(ctx, &h.adopts) })
	}
	g.Go(func() { h.maintain(ctx) })
	g.Wait()
	h.report("the refs' files", h.tidy(context.WithoutCancel(ctx))) // so that the next start has nothing to do
	return nil
}

// hearAndLook queues what commits mean for uploads, and at each look what failed and what waits no more, however long the jobs take.
func (h *Host) hearAndLook(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	h.report("commits that wait for their events", h.before.reopen(ctx))
	for ctx.Err() == nil {
		h.hear()
		select {
		case <-h.ledger.MoreOutcomes():
		case dir := <-h.cfg.Kept.gone():
			h.report("indexes of packs", h.cfg.Kept.Local.Restore(ctx, gitrepo.ID(dir)))
		case <-look.C:
			h.report("commits that wait for their events", h.before.reopen(ctx))
			h.copies.again()
			h.adopts.again()
			h.report("uploads", h.expireUploads(ctx))
		case <-ctx.Done():
		}
	}
}

// work does jobs of a queue that may take long, beside others that do.
func (h *Host) work(ctx context.Context, q *jobs) {
	for ctx.Err() == nil {
		if x, done := q.next(h.cfg.Now()); done != nil {
			q.stir() // another one may be done beside it
			h.try(ctx, x, q)
			done(h.cfg.Now())
			continue
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
}

// try does a job. A job that fails and may succeed later is tried again at the next look.
func (h *Host) try(ctx context.Context, x job, q *jobs) {
	if q.holdsUp(x) {
		q.fail(x)
		return
	}
	err := h.do(ctx, x)
	if !errors.Is(err, gitproc.ErrBusy) && !postponed(err) {
		h.report("git data", err)
	}
	if err != nil && !hopeless(err) {
		q.fail(x)
	}
}

// attend does all other jobs.
func (h *Host) attend(ctx context.Context) {
	look, sweep := time.NewTicker(lookEvery), time.NewTicker(sweepEvery)
	defer look.Stop()
	defer sweep.Stop()
	tidy := time.NewTimer(tidyAfter)
	defer tidy.Stop()
	round := round{least: roundPart}
	for ctx.Err() == nil {
		h.report("changed repositories", h.rows.take(h))
		if x, done := h.jobs.next(h.cfg.Now()); done != nil {
			h.try(ctx, x, &h.jobs)
			done(h.cfg.Now())
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
			h.jobs.again()
			h.report("the trash", h.shrinkTrash(ctx))
			h.report("packs on this disk", h.cfg.Kept.shrink())
		case <-sweep.C:
			h.report("repositories that have gone", h.sweep(ctx))
			h.report("repositories to look at", round.goOn(h, h.cfg.Now(), h.visited.add))
		case <-ctx.Done():
		}
	}
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
		return h.release(ctx, x.upload)
	}
	return nil
}

// share copies a changed repository to those that follow it. Where it does not finish, the next start copies again.
func (h *Host) share(ctx context.Context, of nip34.Address) error {
	generation, err := h.written(of)
	if err != nil {
		return err
	}
	follow := h.align
	if grasp.IsContributed(of) {
		follow = h.mirror
	}
	by := h.payers.party(of)
	done, err := follow(ctx, of, copier{party: by})
	if done {
		h.payers.copied(of, by)
		h.settled.saw(of, generation)
		h.jobs.push(job{kind: seen})
	}
	return err
}

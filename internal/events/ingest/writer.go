package ingest

import (
	"context"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	// extraWork is how many steps of chores go into a batch for which a client waits. The rest comes with the next batch.
	extraWork = 64
	// clientDelay is for how long after its first event from a client a batch takes more events, where deciding them is slow.
	clientDelay = 20 * time.Millisecond
	// quietGap is the time between commits while no client waits and nothing is on its way. After a pause, one commit and
	// quietBurst more come without that gap. So neither a single event nor a few that come close together wait for company,
	// and a trickle of events does not cost a commit each.
	quietGap   = 5 * time.Millisecond
	quietBurst = 4
	// retryPause is how long chores wait after a failed commit.
	retryPause = time.Second
	// besideWork is how many events of relays are decided in a row while exclusive work waits, and no client.
	besideWork = 64
)

var quietly = bucket.Rate{Tokens: 1, In: quietGap, Burst: 1 + quietBurst}

// writer decides one event after the other, and commits. Only the goroutine of run and drain uses it.
type writer struct {
	door       *Door
	rules      policy.Rules
	ledger     *refdb.Ledger // nil where nothing is hosted
	orphans    *orphans
	stops      bool // the door closes
	known      announced
	perAddress *perAddress
	trouble    trouble
	commits    bucket.Bucket // commits that may come while no client waits; see quietGap
	late       bool          // DrainTime is over: the writer decides nothing more
	look       time.Time     // when the writer looks next whether the store is to be opened anew
	open       openBatch
	away       leaving
	held       held

	chores    []chore // the chores below; of those that are due the first comes first
	expiry    expiring
	promotion promotion
	forgets   forgetting
	purging   purging
	lapsing   lapsing
}

func newWriter(d *Door) *writer {
	w := &writer{door: d, rules: d.Rules(), ledger: d.ledger, perAddress: newPerAddress(), away: newLeaving(d.limits.BatchEvents)}
	w.expiry.w, w.promotion.w, w.forgets.w, w.purging.w, w.lapsing.w = w, w, w, w, w
	w.chores = []chore{&w.expiry, &w.promotion, &w.forgets, &w.purging, &w.lapsing}
	w.known.reset()
	w.orphans = newOrphans(d.limits, func(id nostr.ID) { d.forgetCopies([]nostr.ID{id}) })
	return w
}

// run decides and commits until ctx ends. It waits for a verified event, new rules, exclusive work, the time to commit, or the next chore. What waits
// for the writer shares a commit.
func (w *writer) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	w.purging.due = w.door.mustPurge()
	for ctx.Err() == nil {
		w.reopen()
		w.tell(w.held.due(time.Now(), false))
		w.receiveRules()
		w.receiveExclusive()
		more, work := w.fill(), w.door.workWaits()
		if !more && !work && !w.open.idle() && w.door.quiet() {
			w.open.within(w.commits.Wait(time.Now(), quietly))
		}
		if w.commitDue(work) {
			w.commit()
			continue
		}
		if more || work {
			continue
		}
		timer.Reset(w.pause())
		select {
		case <-ctx.Done():
		case <-w.door.wake:
		case <-timer.C:
		}
	}
}

// drain decides and commits the verified events until DrainTime is over, and answers all others with verdictStopped.
func (w *writer) drain() {
	w.door.abandonAll(verdictStopped)
	w.stops = true
	w.tell(w.held.due(time.Now(), true))
	end := time.Now().Add(w.door.limits.DrainTime)
	for {
		w.late = !time.Now().Before(end)
		if more := w.fill(); !more && w.open.idle() {
			return
		}
		w.commit()
	}
}

// fill decides ready items until the batch is full, its time is over, or nothing is left for it. Chores alternate with clients' events, and
// come before the sync engine's. Once a client waits for the batch, the sync engine's events have only their turns between clients' events; where
// exclusive work alone is in the batch, or waits, they have besideWork. Before all that comes what a batch had that failed. fill reports whether there
// may be more to do.
func (w *writer) fill() (more bool) {
	hurry := w.open.direct || w.door.workWaits()
	for n := range w.door.limits.BatchEvents {
		if w.full() || w.open.over() {
			return true
		}
		if w.choresTurn(n) && w.doChore() {
			continue
		}
		if w.away.again.Len() > 0 {
			w.decideAgain(w.away.again.Pop())
			continue
		}
		it := w.door.takeReady(w.open.clients || hurry && n >= besideWork)
		if it == nil {
			return false
		}
		if w.tooSoon(it) && w.purging.ahead() {
			w.door.putBack(it)
			continue
		}
		w.answer(it)
	}
	return true
}

// commitDue reports whether it is time to commit the batch. work says that exclusive work waits, which is to have the same commit.
func (w *writer) commitDue(work bool) bool {
	r := &w.open
	return !r.idle() && (r.direct && !work || r.soon || w.full() || r.over())
}

// full reports whether the batch has enough decisions or bytes, or must have nothing else.
func (w *writer) full() bool {
	r := &w.open
	return r.decided >= w.away.most || r.batch != nil && r.batch.Full() || w.away.apart && r.extra > 0
}

// pause returns how long it is until something is due even if no event comes. That is a minute at most, as chores come so often; reopen needs no
// more.
func (w *writer) pause() time.Duration {
	wait := min(time.Until(w.firstDue()), time.Until(w.held.next()))
	if !w.open.idle() {
		wait = min(wait, time.Until(w.open.deadline))
	}
	return max(wait, 0)
}

// decideAgain decides or does what a batch had that failed.
func (w *writer) decideAgain(x decision) {
	switch v := x.work; {
	case v == nil:
		w.answer(x.item)
	case v.failed != nil:
		v.done <- v.failed
	case w.late:
		v.done <- ErrStopped
	default:
		w.join(v)
	}
}

// answer decides an item unless the writer has failed over it, and queues the verdict for the commit. It tells a verdict that stands already at once, if nothing before it waits
// for a commit.
func (w *writer) answer(it *item) {
	a := answer{decision: decision{item: it}, verdict: it.verdict, stands: it.stands}
	switch {
	case a.stands && it.recalled && it.src.conf.Direct:
		a.verdict = w.recall(it)
	case it.left:
		a.verdict, a.stands = verdictLeftOut, true
	case !a.stands && w.late:
		a.verdict, a.stands = verdictStopped, true
	}
	if a.stands {
		if w.open.idle() {
			w.reply([]answer{a})
			return
		}
		w.queue(a)
		return
	}
	v, err := w.billed(it)
	a.verdict = v
	w.queue(a)
	if err != nil {
		w.itemFailed(it, err)
	}
}

// recall checks again that an event is stored which was stored when a verifier looked: an earlier event of the client may have deleted it.
func (w *writer) recall(it *item) policy.Verdict {
	var known store.Knowledge
	var err error
	if b := w.open.batch; b != nil {
		known, err = b.Known(it.event.ID)
	} else {
		v := w.door.store.View()
		defer v.Close()
		known, err = v.Known(it.event.ID)
	}
	switch {
	case err != nil:
		return verdictFailed(err)
	case known.State == store.Stored:
		return it.verdict
	case known.State == store.Remembered:
		return verdictStored(known.Why)
	}
	return verdictGone
}

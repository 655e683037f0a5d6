package ingest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// openBatch holds the open batch, and the answers that wait for its commit.
type openBatch struct {
	batch    *store.Batch // nil while nothing needs a batch
	deadline time.Time    // the commit comes at the latest then
	direct   bool         // a client waits for the batch, or who has exclusive work in it
	clients  bool         // it has a client's event
	decided  int          // decisions in the batch, with steps of chores
	extra    int          // steps of chores among decided
	last     chore        // the chore that took the last of these
	answers  []answer
	soon     bool            // a chore wants a commit
	released [Sources]uint64 // waiting events that the batch serves, as their git data came
	served   []nostr.ID      // these events
	lapsed   int             // waiting events whose wait the batch ends, as their git data did not come

	// For prune: the d tags whose announcements have changed, the d tags that are pruned, and the pruned ones that have changed again.
	changed, pruned, unpruned []string
}

// idle reports whether nothing waits for a commit.
func (r *openBatch) idle() bool { return r.batch == nil && len(r.answers) == 0 }

// within sets the deadline, unless there is an earlier one.
func (r *openBatch) within(d time.Duration) {
	if at := time.Now().Add(d); r.deadline.IsZero() || at.Before(r.deadline) {
		r.deadline = at
	}
}

// over reports whether the deadline has passed.
func (r *openBatch) over() bool { return !r.idle() && !time.Now().Before(r.deadline) }

// decision is what the writer decides or does for somebody: an item or exclusive work.
type decision struct {
	item *item
	work *exclusiveRequest
}

// answer is the verdict on an item or the end of exclusive work, and waits for the commit.
type answer struct {
	decision
	verdict policy.Verdict
	stands  bool // the verdict is true whatever becomes of the batch
	served  bool // the event, which was to wait, is served by now
}

// queue adds an answer to those that wait for the commit. That of a client or of exclusive work moves the deadline forward to clientDelay from now.
func (w *writer) queue(a answer) {
	w.open.answers = append(w.open.answers, a)
	w.open.decided++
	w.open.within(w.door.limits.BatchDelay)
	client := a.work == nil && a.item.src.conf.Direct
	w.open.clients = w.open.clients || client
	if client || a.work != nil {
		w.open.direct = true
		w.open.within(clientDelay)
	}
}

// begin begins a batch unless one is open.
func (w *writer) begin() error {
	if w.open.batch != nil {
		return nil
	}
	b, err := w.door.store.Begin()
	if err != nil {
		return err
	}
	w.open.batch = b
	w.open.within(w.door.limits.BatchDelay)
	return nil
}

// commit makes the batch durable, and only then tells its verdicts. After an error it has dropped the batch: after a failure of the disk it
// has told everybody in it, and after any other their events are decided anew.
func (w *writer) commit() error {
	if err := w.conclude(); err != nil {
		w.batchFailed(err)
		return err
	}
	if w.open.batch != nil && w.open.batch.Len() > 0 {
		// The commit point: before it nothing that was decided is durable or seen by readers, after it everything is.
		if err := w.open.settle(w); err != nil {
			w.batchFailed(err)
			return err
		}
		w.trouble.end(w.door)
		for from, n := range w.open.released {
			w.door.counts.released[from].Add(n)
		}
		w.door.counts.lapsed.Add(uint64(w.open.lapsed))
	} else if w.open.batch != nil {
		w.open.batch.Discard()
	}
	w.away.kept(w.open.decided, w.open.extra, w.door.limits.BatchEvents)
	for _, c := range w.chores {
		c.kept()
	}
	served := w.open.served
	var found []nostr.ID
	if w.ledger != nil {
		found = w.ledger.Committed(w.door.now())
	}
	w.finish(nil, found...)
	w.held.served(served)
	w.tell(w.held.due(time.Now(), w.stops))
	return nil
}

// conclude brings announcements and refs in line with what was decided in the batch so far.
func (w *writer) conclude() error { return errors.Join(w.pruneRest(), w.settle()) }

// abort drops the batch because of a failure of this relay's own, and logs the failure.
func (w *writer) abort(err error) {
	w.trouble.add(w.door, err)
	w.drop(err)
}

// drop drops the batch: nothing in it has happened, and everybody whose verdict depended on it hears verdictFailed.
func (w *writer) drop(err error) {
	for i := range w.open.answers {
		if a := &w.open.answers[i]; !a.stands {
			a.verdict = verdictFailed(err)
		}
	}
	w.undo()
	w.finish(err)
}

// undo drops the batch: nothing in it has happened.
func (w *writer) undo() {
	w.known.reset()
	if w.open.batch != nil {
		w.open.batch.Discard()
	}
	for _, c := range w.chores {
		c.undone()
	}
	if w.ledger != nil {
		w.ledger.Undone()
	}
}

// finish answers everybody in the batch, but for those whose events will be served in a moment, and makes ready for the next batch. err is the end of
// exclusive work. found has the events whose commits were pushed before.
func (w *writer) finish(err error, found ...nostr.ID) {
	answers := slices.DeleteFunc(w.open.answers, func(a answer) bool {
		if a.work != nil {
			a.work.done <- err
		}
		return a.work != nil
	})
	w.open = openBatch{}
	w.commits.Spend(time.Now(), quietly, 1)
	w.door.counts.setOrphans(w.orphans.size())
	w.reply(answers, found...)
}

// reply tells verdicts, or holds them.
func (w *writer) reply(answers []answer, found ...nostr.ID) {
	w.tell(w.held.hold(answers, found, time.Now()))
}

// tell counts the verdicts, calls the replies in order, and frees the places of the items.
func (w *writer) tell(answers []answer) {
	if len(answers) == 0 {
		return
	}
	var done []nostr.ID
	now, telling := time.Now(), w.door.log.Enabled(context.Background(), slog.LevelDebug)
	for _, a := range answers {
		if telling && a.verdict.Outcome == policy.Accept {
			w.door.logged(a.item)
		}
		w.door.logRefusal(a)
		if id := a.item.event.ID; !a.item.stands && !w.orphans.has(id) {
			done = append(done, id)
		}
		w.door.counts.countVerdict(a.item.from, a.verdict, now.Sub(a.item.came))
		w.door.saw(a.item, a.verdict)
		if a.item.reply != nil {
			if a.served {
				a.verdict = policy.Verdict{}
			}
			a.item.reply(a.verdict)
		}
	}
	w.door.forgetCopies(done)
	w.door.answered(answers)
}

// logRefusal logs that a client is refused an announcement or a state.
func (d *Door) logRefusal(a answer) {
	if e := a.item.event; a.item.from == store.Direct && !a.verdict.OK() && nip34.Is(e.Kind, nip34.Hosted) {
		d.log.Info("event refused", "event", e.ID, "kind", e.Kind, "cause", safetext.Escape(safetext.Line(a.verdict.Reason, mostWhy)))
	}
}

// logged logs one stored event.
func (d *Door) logged(it *item) {
	log := d.log.With("event", it.event.ID, "kind", it.event.Kind, "from", it.src.conf.Label)
	switch it.from {
	case store.Live:
		log.Debug("event by live")
	case store.Catchup:
		log.Debug("event by catchup")
	case store.Daily:
		log.Debug("event by daily resync")
	default:
		log.Debug("event from a client")
	}
}

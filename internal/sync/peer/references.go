package peer

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/peer/threads"
	"github.com/graspd/graspd/internal/sync/want"
)

// references is the part that asks the questions of layer 4, as threads.Inquiry has them in turn: each is a task of the stored side.
type references struct {
	*stepContext
	*itemState
	inquiry threads.Inquiry
	stored  *catchup // of the connection
	task    *task    // of the open question
	sub     string   // of the walk through the store that is under way
}

// bootstrapGrace is how long layer 4 waits at least for what the announcements of a bootstrap relay lead to.
const bootstrapGrace = 10 * time.Minute

// first makes layer 4 due soon at a relay that was never asked in it, where the first full resync would be too late: a relay that is only visited
// has nothing else to be asked, and who moves here from a bootstrap relay may stop that one on the next day.
func (r *references) first() {
	switch {
	case r.want.OnlyMailbox():
		r.inquiry.Plan(r.now.Mono)
	case r.want != nil && r.want.Bootstrap:
		r.inquiry.Plan(r.now.Mono + bootstrapGrace)
	}
}

// begin records that a connection has opened.
func (r *references) begin(stored *catchup) {
	r.stored = stored
	r.inquiry.Connected(r.now.Mono)
}

// end takes the end of the connection. A visit that is not complete goes on with the next connection.
func (r *references) end() {
	r.inquiry.Disconnected(r.now.Mono, r.want.OnlyMailbox())
	r.stored, r.task, r.sub = nil, nil, ""
}

// forget forgets how far layer 4 has come, as nothing is wanted of the relay any more, but not when layer 4 is due.
func (r *references) forget() {
	r.inquiry.Forget()
	r.stored, r.task, r.sub = nil, nil, ""
}

// tend begins a round of layer 4 when one is due and the catch-up is through. The following round is due at the time next.
func (r *references) tend(next time.Duration) {
	if r.inquiry.Ready(r.now.Mono, r.stored.peer.AllConfirmed()) {
		r.inquiry.Begin(next, r.want, r.cfg.Backoff().Jitter(uint64(r.now.Wall.Unix()/86_400)))
	}
}

// next takes the next step of layer 4, and returns the task to run now; nil when
// there is none.
func (r *references) next() *task {
	s := r.inquiry.Next(r.now.Mono, threads.Facts{
		Want: r.want, Wanted: &r.wanted, Bounds: r.stored.limits.Bounds(), Lists: r.cfg.Mailboxes, Outsider: r.stored.comparing.outsider,
	})
	switch {
	case s.GoOn:
		return r.task
	case s.Ask != nil:
		r.task = newQuestion(*s.Ask)
		return r.task
	case s.Walk != nil:
		r.sub = r.newSub("v")
		r.effect(Survey{Sub: r.sub, Values: *s.Walk})
	case s.Ended != nil:
		r.dropTask()
		r.report(LevelDebug, "asking for what answers events here has ended", "steps", s.Ended.Steps, "cut_short", s.Ended.Why)
	}
	return nil
}

func newQuestion(f nostr.Filter) *task {
	t := &task{group: &group{Lot: itemset.Lot{Layer: want.LayerReferences}, class: Daily}, filter: f}
	if f.IDs != nil { // as in the last round of a fetch: asked as long as something comes
		t.neg = reconcile.NewFetch(f.IDs)
	}
	return t
}

// surveyed takes what a walk through the store has reached.
func (r *references) surveyed(in Surveyed) {
	if r.sub == "" || in.Sub != r.sub {
		return
	}
	r.sub = ""
	if in.Failed {
		r.inquiry.Unread(r.now.Mono)
		return
	}
	r.inquiry.Surveyed(in.Reached)
}

// count counts a request, if its task is a question of layer 4.
func (r *references) count(t *task) {
	if t.group.Layer == want.LayerReferences {
		r.inquiry.Sent()
	}
}

// came reports whether an event came that the open question requests by id.
func (r *references) came(id nostr.ID) bool { return r.task.neg.Has(id) }

// answered records that the open question is answered.
func (r *references) answered() {
	r.inquiry.Answered(r.came)
	r.dropTask()
}

// over gives the open question up.
func (r *references) over() {
	r.inquiry.GiveUp(r.came)
	r.dropTask()
}

// unanswered records that the relay did not answer the open question.
func (r *references) unanswered() {
	r.inquiry.Unanswered(r.now.Mono, r.came)
	r.dropTask()
}

// drop forgets the open question; a later step asks it again.
func (r *references) drop() {
	r.inquiry.Drop()
	r.dropTask()
}

// dropTask abandons the task of the open question.
func (r *references) dropTask() {
	if t := r.task; t != nil {
		r.stored.abandon(t)
		t.over = true
		r.stored.leave(t)
		r.task = nil
	}
}

// makeWay puts the open question off when a task of another layer waits for a place, and reports whether it did.
func (r *references) makeWay() bool {
	if !r.inquiry.Asking() || !r.stored.waits() {
		return false
	}
	t := r.task
	if t.req.kind == asksStore {
		return false // it asks nothing of the relay, and ends soon
	}
	r.stored.abandon(t)
	r.stored.park(t)
	return true
}

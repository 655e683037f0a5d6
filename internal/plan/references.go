package plan

import (
	"time"

	"github.com/graspd/graspd/internal/compare"
	"github.com/graspd/graspd/internal/inquiry"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/step"
	"github.com/graspd/graspd/internal/want"
)

// references asks the questions of layer 4, which inquiry.Inquiry has in turn, as tasks of the stored side.
type references struct {
	*desk
	*books
	inquiry inquiry.Inquiry
	stored  *catchup // of the connection
	task    *task    // of the open question
	sub     string   // of the page of the store that is being read
}

// begin begins a connection.
func (r *references) begin(stored *catchup) {
	r.stored = stored
	r.inquiry.Connected(r.now.Mono)
}

// end takes the end of the connection. A visit that ended before all was asked goes on when the relay is connected to again.
func (r *references) end() {
	r.inquiry.Disconnected(r.now.Mono, r.want.OnlyMailbox())
	r.stored, r.task, r.sub = nil, nil, ""
}

// forget begins anew with the next thing that is wanted. When this is due stays.
func (r *references) forget() {
	r.inquiry.Forget()
	r.stored, r.task, r.sub = nil, nil, ""
}

// tend begins layer 4 when the catch-up of a full resync is through. It is due again at the time next.
func (r *references) tend(next time.Duration) {
	if r.inquiry.Ready(r.now.Mono, r.stored.rest.Settled()) {
		r.inquiry.Begin(next, r.want, r.cfg.Terms().Jitter(uint64(r.now.Wall.Unix()/86_400)))
	}
}

// next takes the next step of layer 4. It returns the task to run now; nil when
// there is none.
func (r *references) next() *task {
	s := r.inquiry.Next(r.now.Mono, inquiry.Terms{
		Want: r.want, Wanted: &r.wanted, Bounds: r.stored.limits.Bounds(), Lists: r.cfg.Mailboxes, Outsider: r.stored.comparing.outsider,
	})
	switch {
	case s.GoOn:
		return r.task
	case s.Ask != nil:
		r.task = newQuestion(*s.Ask)
		return r.task
	case s.Read != nil:
		r.sub = r.newSub("v")
		r.effect(step.Survey{Sub: r.sub, Query: *s.Read})
	case s.Ended != nil:
		r.dropTask()
		r.report(step.Debug, "asking for what answers events here has ended", "steps", s.Ended.Steps, "cut_short", s.Ended.Why)
	}
	return nil
}

func newQuestion(f nostr.Filter) *task {
	t := &task{group: &group{Lot: itemset.Lot{Layer: want.LayerReferences}, class: step.Daily}, filter: f}
	if f.IDs != nil { // as in the last round of a fetch: asked as long as something comes
		t.compares(compare.NewFetch(f.IDs))
	}
	return t
}

// surveyed takes a page of what is stored here.
func (r *references) surveyed(in step.Surveyed) {
	if r.sub == "" || in.Sub != r.sub {
		return
	}
	r.sub = ""
	if in.Failed {
		r.inquiry.Unread(r.now.Mono)
		return
	}
	r.inquiry.Surveyed(in.Answer)
}

// count notes that something was asked for t.
func (r *references) count(t *task) {
	if t.group.Layer == want.LayerReferences {
		r.inquiry.Sent()
	}
}

// came says whether an event came that the open question asks for by its id.
func (r *references) came(id nostr.ID) bool { return r.task.neg.Has(id) }

// answered ends the question: it is answered.
func (r *references) answered() {
	r.inquiry.Answered(r.came)
	r.dropTask()
}

// over ends the question: it is given up.
func (r *references) over() {
	r.inquiry.GiveUp(r.came)
	r.dropTask()
}

// unanswered asks once more in a while what was not answered.
func (r *references) unanswered() {
	r.inquiry.Unanswered(r.now.Mono, r.came)
	r.dropTask()
}

// drop forgets that the question was asked.
func (r *references) drop() {
	r.inquiry.Drop()
	r.dropTask()
}

// dropTask abandons the task of the question.
func (r *references) dropTask() {
	if t := r.task; t != nil {
		r.stored.abandon(t)
		t.end()
		r.stored.leave(t)
		r.task = nil
	}
}

// makeWay puts the open question off when something else waits for its place.
// It reports whether it did.
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

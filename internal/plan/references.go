package plan

import (
	"time"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/mailbox"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/step"
	"github.com/graspd/graspd/internal/survey"
	"github.com/graspd/graspd/internal/want"
)

// Bounds of layer 4 in one full resync of one relay. What is left when they are
// reached is where the next full resync begins.
const (
	referenceSteps  = 2000             // pages read here, and REQs and reconciliations together
	referencePace   = 2 * time.Second  // from the beginning of one step to that of the next
	mostPerQuestion = 100              // REQs and reconciliations for one filter; what is left then is given up
	mostRefusals    = 3                // failures in a row, or requests to slow down
	catchUpGrace    = time.Hour        // items that are not confirmed by then are not waited for
	surveyRetry     = 10 * time.Second // when the store could not be read
)

// references is layer 4 of one relay: when it is due, how far it has come, and what it asks on the connection. It outlives
// connections, but for what is under way.
type references struct {
	*desk
	*books
	at    time.Duration // it is due; 0 = not known yet, and 1 as early as a time can be
	tour  survey.Tour
	round mailbox.Round
	referencing
}

// referencing is layer 4 on one connection. One question is open at a time, and
// only while nothing else is to be asked: nobody waits for it.
type referencing struct {
	stored   *catchup      // of the connection
	caughtBy time.Duration // this waits no longer than that for the catch-up
	asking
}

// asking is what a round asks and has asked. Zero is that none is under way.
type asking struct {
	active bool
	after  time.Duration // no step before
	sub    string        // of the survey that is being read
	asked  question
	steps  int
	failed int // questions in a row
	slowed int
}

// question is a filter of layer 4 under way.
type question struct {
	task   *task
	begun  int // of steps, when it was asked
	parked bool
	done   func() // takes from the tour what was asked
}

// begin begins a connection.
func (r *references) begin(stored *catchup) {
	r.referencing = referencing{stored: stored}
	r.caughtUpBy()
}

// caughtUpBy waits for a catch-up that begins now.
func (r *references) caughtUpBy() { r.caughtBy = r.now.Mono + catchUpGrace }

// end takes the end of the connection. A visit that ended before all was asked goes on when the relay is connected to again.
func (r *references) end() {
	if r.active && r.want.OnlyMailbox() {
		r.soon()
	}
	r.tour.End()
	r.referencing = referencing{}
}

// forget begins anew with the next thing that is wanted. When this is due stays.
func (r *references) forget() {
	r.tour, r.round, r.referencing = survey.Tour{}, mailbox.Round{}, referencing{}
}

// soon has this due at once.
func (r *references) soon() { r.at = max(1, r.now.Mono) }

// due says whether layer 4 is to be asked now.
func (r *references) due() bool { return r.at <= max(1, r.now.Mono) }

// plan has this due at a time, where that is not known yet.
func (r *references) plan(at time.Duration) {
	if r.at == 0 {
		r.at = at
	}
}

// tend begins layer 4 when the catch-up of a full resync is through. It is due again at the time next.
func (r *references) tend(next time.Duration) {
	if !r.due() || !r.stored.rest.Settled() && r.now.Mono < r.caughtBy {
		return
	}
	r.at = next
	r.asking = asking{active: true}
	// What is kept of the tour ends with the process: the next one begins elsewhere.
	today := r.cfg.terms().Jitter(uint64(r.now.Wall.Unix() / 86_400))
	r.tour.Begin(want.Item(today * float64(r.want.Numbers())))
	r.round.Begin(r.want.Mailbox, today)
}

// wake names the time at which layer 4 is due or goes on.
func (r *references) wake() time.Duration {
	switch {
	case r.at > r.now.Mono && !r.active:
		return r.at
	case !r.active:
		return later(r.caughtBy, r.now.Mono)
	case r.sub == "" && r.asked.task == nil:
		return later(r.after, r.now.Mono)
	}
	return never
}

// next takes the next step of layer 4. It returns the task to run now; nil when
// there is none.
func (r *references) next() *task {
	switch {
	case !r.active || r.sub != "" || r.asked.task != nil && !r.asked.parked:
		return nil
	case r.steps >= referenceSteps:
		r.endRound("budget used up")
		return nil
	case r.failed >= mostRefusals || r.slowed >= mostRefusals:
		r.endRound("not welcome")
		return nil
	case r.asked.task != nil:
		r.asked.parked = false
		return r.asked.task
	case r.now.Mono < r.after:
		return nil
	}
	r.after = r.now.Mono + referencePace
	if r.steps < r.tourSteps() {
		if t, more := r.nextOfTour(); more {
			return t
		}
	}
	if t := r.mailQuestion(); t != nil {
		return t
	}
	r.endRound("")
	return nil
}

// nextOfTour asks what the tour has found, or surveys the next page; false when the tour is through.
func (r *references) nextOfTour() (t *task, more bool) {
	if t := r.question(false); t != nil {
		return t, true
	}
	if q, ok := r.tour.Next(r.want, r.wanted.Above); ok {
		r.steps++
		r.sub = r.newSub("v")
		r.effect(step.Survey{Sub: r.sub, Query: q})
		return nil, true
	}
	t = r.question(true)
	return t, t != nil
}

// question asks the next thing that the tour has found; the authors only when
// there are many, or at the end. What is missing goes first, as what names it is
// asked for once it is here.
func (r *references) question(end bool) *task {
	w, b := &r.tour, r.stored.limits.Bounds()
	switch {
	case len(w.Missing()) > 0:
		t := newQuestion(nostr.Filter{IDs: w.Missing()})
		// As in the last round of a fetch: asked as long as something comes.
		n := &reconciliation{fetching: fetching{need: w.Missing(), round: 2}}
		t.neg = n
		return r.ask(t, func() { w.Fetched(n.cameOf) })
	case len(w.IDs()) > 0:
		hex := make([]string, 0, len(w.IDs()))
		for _, id := range w.IDs() {
			hex = append(hex, id.String())
		}
		f := ask.AppendTags(nil, nil, 'e', hex, b)[0]
		n := len(f.Tags[0].Values)
		return r.ask(newQuestion(f), func() { w.AskedIDs(n) })
	case len(w.Authors()) >= b.Values || end && len(w.Authors()) > 0:
		n := min(len(w.Authors()), b.Values)
		f := nostr.Filter{Kinds: r.sayings(), Authors: w.Authors()[:n:n]}
		return r.ask(newQuestion(f), func() { w.AskedAuthors(n) })
	}
	return nil
}

// sayings are the kinds that are asked for by author.
func (r *references) sayings() []nostr.Kind {
	kinds := []nostr.Kind{nostr.KindMetadata, nostr.KindDeletion, nostr.KindVanish}
	if r.cfg.Mailboxes {
		kinds = append(kinds, nostr.KindRelayList, nip34.KindGraspList)
	}
	return kinds
}

func newQuestion(f nostr.Filter) *task {
	return &task{group: &group{Lot: itemset.Lot{Layer: want.LayerReferences}, class: step.Daily}, filter: f}
}

func (r *references) ask(t *task, done func()) *task {
	r.asked = question{task: t, begun: r.steps, done: done}
	return t
}

// surveyed takes a page of what is stored here.
func (r *references) surveyed(in step.Surveyed) {
	if r.sub == "" || in.Sub != r.sub {
		return
	}
	r.sub = ""
	if in.Failed {
		r.failed++
		r.after = r.now.Mono + surveyRetry
		return
	}
	r.tour.Take(in.Answer)
}

// count notes that something was asked for t.
func (r *asking) count(t *task) {
	if t.group.Layer == want.LayerReferences {
		r.steps++
	}
}

// spent says whether the question has had its share of requests.
func (r *asking) spent() bool { return r.steps-r.asked.begun >= mostPerQuestion }

// answered ends the question: it is answered.
func (r *references) answered() {
	r.failed = 0
	r.over()
}

// over ends the question: it is answered, or given up.
func (r *references) over() {
	r.asked.done()
	r.drop()
}

// unanswered asks once more in a while what was not answered, and gives it
// up when the round ends for it.
func (r *references) unanswered() {
	if r.failed++; r.failed >= mostRefusals {
		r.over()
		return
	}
	r.drop()
	r.after = r.now.Mono + firstRetry
}

// drop forgets that the question was asked; what is not done of it stays in the tour.
func (r *references) drop() {
	if t := r.asked.task; t != nil {
		r.stored.abandon(t)
		t.over = true
		r.stored.leave(t)
	}
	r.asked = question{}
}

// makeWay puts the open question off when something else waits for its place.
// It reports whether it did.
func (r *references) makeWay() bool {
	t := r.asked.task
	if t == nil || r.asked.parked || !r.stored.waits() {
		return false
	}
	if t.req.kind == asksStore {
		return false // it asks nothing of the relay, and ends soon
	}
	r.stored.abandon(t)
	r.stored.park(t)
	return true
}

// putBack notes that the question waits for its turn.
func (r *asking) putBack() { r.asked.parked = true }

// slower notes that the relay asked to slow down.
func (r *asking) slower() { r.slowed++ }

// endRound ends the round; why is empty when it came to its end.
func (r *references) endRound(why string) {
	r.drop()
	r.tour.End()
	r.report(step.Debug, "asking for what answers events here has ended", "steps", r.steps, "cut_short", why)
	r.asking = asking{}
}

// Package threads decides what one relay is asked in layer 4, beside what is wanted, one question after the other, and when. It is a
// function from what came of one step to the next step: its caller asks the relay, reads the store and tells the time. What it
// asks about, walks through the stored events find: those about some wanted items, and about those in turn. Read Inquiry, then Next.
package threads

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/sync/want"
)

// Bounds of layer 4 in one full resync of one relay. What is left when they are
// reached is where the next full resync begins.
const (
	MostSteps    = 2000             // walks through the store, and REQs and reconciliations together
	Pace         = 2 * time.Second  // from the beginning of one step to that of the next
	MostRequests = 100              // REQs and reconciliations for one question; what is left then is given up
	mostRefusals = 3                // failures in a row, requests to slow down, or connections lost at one question
	catchUpGrace = time.Hour        // after it a round waits no longer for items that are not confirmed
	storeRetry   = 10 * time.Second // when the store could not be read

	// Beyond mostHangUps, a round bears one connection that is lost at a question for so many steps.
	mostHangUps, stepsPerHangUp = 3, 5
)

// Times at which layer 4 is due that are no readings of the clock.
const (
	unplanned time.Duration = 0 // not known yet
	soonest   time.Duration = 1 // the earliest that can be known
)

// Inquiry knows when layer 4 of one relay is due, how far it has come, and what it asks. It outlives connections, but for what is under way.
// One question is open at a time, and only while nothing else is to be asked: nobody waits for its answer. Times are readings of the
// steady clock. Of the zero value no time is known, which counts as due; one goroutine uses it.
type Inquiry struct {
	at       time.Duration // when it is due
	caughtBy time.Duration // until when it waits for the catch-up of the connection
	tour     tour
	mail     mailbox.Round
	goesOn   bool // the last round was lost with its connection: the next connection goes on with it
	spent    int  // steps of the round that was lost
	lost     int  // connections in a row that were lost while the same question was open
	hangUps  int  // connections of one round that were lost while a question was open
	round
}

// round is the state of a round on one connection. Zero: none is under way.
type round struct {
	active  bool
	after   time.Duration // no step before
	reading bool          // a walk through the store is under way
	asked   question
	steps   int
	failed  int // questions and walks in a row
	slowed  int
}

// question is the question that the relay is asked now.
type question struct {
	about  subject
	filter nostr.Filter
	values int  // of the subject that it asks for
	begun  int  // of steps, when it was asked
	parked bool // it waits for its turn
}

// subject says where a question comes from: the tour or the mailbox, which hears that the question is over.
type subject uint8

const (
	nothing subject = iota // no question is open
	missing                // ids that are not here, from the tour
	answers                // events that name ids, from the tour
	authors                // what authors say of themselves, from the tour
	letters                // what people write, from the mailbox
)

// At returns when layer 4 is due; unplanned, which is before any time, where that is not known yet.
func (q *Inquiry) At() time.Duration { return q.at }

// Plan makes layer 4 due at a time, where no time is known yet.
func (q *Inquiry) Plan(at time.Duration) {
	if q.at == unplanned {
		q.at = max(soonest, at)
	}
}

// Soon makes layer 4 due now.
func (q *Inquiry) Soon(now time.Duration) { q.at = max(soonest, now) }

// Due reports whether a round begins as soon as the relay is caught up with.
func (q *Inquiry) Due(now time.Duration) bool { return q.at <= max(soonest, now) }

// Active reports whether a round is under way.
func (q *Inquiry) Active() bool { return q.active }

// Steps returns how many steps the round under way has taken.
func (q *Inquiry) Steps() int { return q.steps }

// Begun reports whether there ever was a round.
func (q *Inquiry) Begun() bool { return q.tour.begun() }

// Size tells how much the tour holds.
func (q *Inquiry) Size() TourSize { return q.tour.size() }

// AwaitCatchUp lets rounds wait for a catch-up that begins now. A round that is due and waits already waits no longer than before: else one would
// never begin where catch-ups begin anew within catchUpGrace.
func (q *Inquiry) AwaitCatchUp(now time.Duration) {
	if q.at > q.caughtBy-catchUpGrace {
		q.caughtBy = now + catchUpGrace
	}
}

// Connected notes that a connection has opened, whose catch-up begins now.
func (q *Inquiry) Connected(now time.Duration) {
	q.round = round{}
	q.AwaitCatchUp(now)
}

// Ready reports whether a round is to begin: between two steps of the one under way, if there is one. caughtUp says that nothing is missing of
// what was asked before.
func (q *Inquiry) Ready(now time.Duration, caughtUp bool) bool {
	return q.Due(now) && (caughtUp || now >= q.caughtBy) && !q.reading && q.asked.about == nothing
}

// Begin begins a round for what is wanted. Layer 4 is due again at the time next. place says where the tour and the mailbox begin for the
// first time, 0 to 1: what is kept of them ends with the process, so that each process begins elsewhere.
func (q *Inquiry) Begin(next time.Duration, w *want.Want, place float64) {
	q.at = next
	q.round = round{active: true}
	if q.goesOn {
		q.steps = q.spent
	} else {
		q.tour.begin(want.Item(place * float64(w.Numbers())))
		q.lost, q.hangUps = 0, 0
	}
	if !q.goesOn || !q.mail.GoOn(w.Mailbox) {
		q.mail.Begin(w.Mailbox, place)
	}
	q.goesOn = false
}

// Disconnected ends the round with its connection. The next connection goes on with the open question and what is left of the round's steps, or a
// relay that hangs up soon would hear the first questions alone. A question at which relays hang up again and again is given up, or they
// would hear no other one. Where they hang up at more than some questions, the round is over. A visit asks nothing but these
// questions and disturbs nothing else, so its round goes on all the same.
func (q *Inquiry) Disconnected(now time.Duration, visit bool) {
	if q.active && q.asked.about != nothing {
		q.unheard()
	}
	if q.active && (visit || q.hangUps <= mostHangUps+q.steps/stepsPerHangUp) {
		q.Soon(now)
		q.goesOn, q.spent = true, q.steps
	} else if q.active {
		q.tour.end()
	}
	q.round = round{}
}

// unheard counts a connection that was lost while a question was open.
func (q *Inquiry) unheard() {
	q.hangUps++
	if q.lost++; q.lost >= mostRefusals {
		q.GiveUp(func(nostr.ID) bool { return false })
	}
}

// Forget forgets how far it has come, as nothing is wanted any more. When it is due stays.
func (q *Inquiry) Forget() { *q = Inquiry{at: q.at} }

// Wake names the time at which a round is due or goes on.
func (q *Inquiry) Wake(now time.Duration) time.Duration {
	switch {
	case q.at > now && !q.active:
		return q.at
	case !q.active:
		return backoff.Later(q.caughtBy, now)
	case !q.reading && q.asked.about == nothing:
		return backoff.Later(q.after, now)
	}
	return backoff.Never
}

// Slower notes that the relay asked to slow down.
func (q *Inquiry) Slower() { q.slowed++ }

// Surveyed takes what the walk has reached that Next ordered.
func (q *Inquiry) Surveyed(a Reached) {
	q.reading = false
	q.tour.take(a)
}

// Unread notes that the store could not be read. It is read again in a while.
func (q *Inquiry) Unread(now time.Duration) {
	q.reading = false
	q.failed++
	q.after = now + storeRetry
}

// Sent counts a REQ or reconciliation for the open question.
func (q *Inquiry) Sent() { q.steps++ }

// Spent reports whether the open question has had MostRequests of them.
func (q *Inquiry) Spent() bool { return q.steps-q.asked.begun >= MostRequests }

// Asking reports whether a question is open that does not wait for its turn.
func (q *Inquiry) Asking() bool { return q.asked.about != nothing && !q.asked.parked }

// PutBack lets the open question wait until Next says GoOn.
func (q *Inquiry) PutBack() { q.asked.parked = true }

// Answered notes that the open question is answered. came reports of an id that was asked for whether the event came.
func (q *Inquiry) Answered(came func(nostr.ID) bool) {
	q.failed = 0
	q.GiveUp(came)
}

// Unanswered notes that the relay did not answer the open question. Next asks it once more in a while; after too many failures in a row the
// round ends and gives it up.
func (q *Inquiry) Unanswered(now time.Duration, came func(nostr.ID) bool) {
	if q.failed++; q.failed >= mostRefusals {
		q.GiveUp(came)
		return
	}
	q.Drop()
	q.after = now + backoff.FirstRetry
}

// GiveUp ends the open question with what is answered of it: it is asked no more in this round.
func (q *Inquiry) GiveUp(came func(nostr.ID) bool) {
	switch x := q.asked; x.about {
	case missing:
		q.tour.fetched(x.values, came)
	case answers:
		q.tour.askedIDs(x.values)
	case authors:
		q.tour.askedAuthors(x.values)
	case letters:
		q.mail.Done(x.filter, !q.Spent())
	}
	q.lost = 0
	q.Drop()
}

// Drop forgets that the open question was asked, if there is one: it is still to be asked.
func (q *Inquiry) Drop() { q.asked = question{} }

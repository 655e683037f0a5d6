package plan

import (
	"time"

	"github.com/graspd/graspd/internal/step"
	"github.com/graspd/graspd/internal/want"
)

// What a relay is asked for as the mailbox of people who take part (GRASP-03) comes last in layer 4: one question at a time, as
// mailbox.Round has them in turn, within what a full resync may cost. A relay that is wanted for nothing else is visited: connected to
// once per full resync, asked, and left.

// roundSteps is how many steps of a full resync layer 4 leaves to the mailboxes of a relay that has any.
const roundSteps = referenceSteps / 4

// tourSteps is after how many steps of a full resync nothing is surveyed any more. An outsider is asked nothing that a survey finds: what
// answers an event that it has, and who wrote that, may belong to a repository that does not name it.
func (r *references) tourSteps() int {
	switch {
	case r.stored.comparing.outsider:
		return 0
	case r.want.Mailbox != nil:
		return referenceSteps - roundSteps
	}
	return referenceSteps
}

// mailQuestion asks the next thing on behalf of people; nil when there is none.
func (r *references) mailQuestion() *task {
	f, ok := r.round.Next(r.stored.limits.Bounds().Values)
	if !ok {
		return nil
	}
	return r.ask(newQuestion(f), func() { r.round.Done(f, !r.spent()) })
}

// dialAt is when the relay may be dialed. One that is only visited is so when it has something to be asked.
func (p *Peer) dialAt() time.Duration {
	if p.want.OnlyMailbox() {
		return max(p.dialing.at, p.references.at)
	}
	return p.dialing.at
}

// visit has a relay that was not visited before asked at once.
func (r *references) visit() {
	if r.want.OnlyMailbox() {
		r.plan(max(1, r.now.Mono))
	}
}

// becomeIndex has layer 4 asked at once, where it never was, of a relay that is to tell lists of relays from now on: on a fresh start
// nobody takes part yet, and what an index tells leads to all else.
func (r *references) becomeIndex(old *want.Want) {
	is := func(w *want.Want) bool { return w.Mailbox != nil && len(w.Mailbox.Index) > 0 }
	if old != nil && !is(old) && is(r.want) && !r.tour.Begun() {
		r.soon()
	}
}

// tendVisit leaves a relay that was asked for all that it is wanted for.
func (p *Peer) tendVisit() {
	c := p.conn
	if !p.want.OnlyMailbox() || p.references.active || p.references.due() || len(c.running) > 0 {
		return
	}
	p.effect(step.HangUp{Reason: "asked for all"})
	p.suspects.end()
	p.comparing.end()
	p.references.end()
	p.close(phaseWaiting)
	p.dialing.visited()
}

// wantAnnouncements adds the item of layer 1 where it is wanted, as it is of every relay but those that are only visited, and takes
// it back. old is nil at first.
func (b *books) wantAnnouncements(old *want.Want) (add, sub bool) {
	had, has := old != nil && !old.OnlyMailbox(), !b.want.OnlyMailbox()
	return has && !had, had && !has
}

// VisitDue says whether a relay that is only visited may be visited at the time now. A clock that was set does not put it off for
// longer than a full resync would be.
func (r Record) VisitDue(c Config, now time.Time) bool {
	c = c.withDefaults()
	wait := r.References.Sub(now)
	return !r.Ourself && r.Due(c, now) && (wait <= 0 || wait > c.Resync+c.Resync/24)
}

// VisitNow is the record of a relay that the operator wants to be visited at once.
func (r Record) VisitNow() Record {
	r.References = time.Time{}
	return r.Retried()
}

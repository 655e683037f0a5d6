package threads

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// Facts are what Next decides by.
type Facts struct {
	Want     *want.Want
	Wanted   *itemset.Bag     // the items of it
	Bounds   reqfilter.Bounds // of a filter
	Lists    bool             // authors are asked for their lists of relays too
	Outsider bool             // nothing that a survey finds is asked: it may belong to a repository that does not name the relay
}

// Order tells the caller what to do next. At most one of its fields is set; none where there is nothing to do now.
type Order struct {
	Walk  *Values       // walk from these through the store, for Surveyed or Unread
	Ask   *nostr.Filter // ask the relay this, until Answered, Unanswered, GiveUp or Drop
	GoOn  bool          // go on with the question that was put back
	Ended *End          // the round has ended, and a question that was put back with it
}

// End tells of a round that has ended.
type End struct {
	Steps int
	Why   string // empty where it came to its end
}

// mailSteps is how many steps of a full resync are left to the mailboxes of a relay that has any.
const mailSteps = MostSteps / 4

// Next takes the next step of the round.
func (q *Inquiry) Next(now time.Duration, facts Facts) Order {
	switch {
	case !q.active || q.reading || q.Asking():
		return Order{}
	case q.steps >= MostSteps:
		return q.end("budget used up")
	case q.failed >= mostRefusals || q.slowed >= mostRefusals:
		return q.end("not welcome")
	case q.asked.about != nothing:
		q.asked.parked = false
		return Order{GoOn: true}
	case now < q.after:
		return Order{}
	}
	q.after = now + Pace
	if q.steps < facts.tourSteps() {
		if s, more := q.nextOfTour(facts); more {
			return s
		}
	}
	if f, ok := q.mail.Next(facts.Bounds.Values); ok {
		return q.ask(letters, f, 0)
	}
	return q.end("")
}

// tourSteps is how many steps of a full resync the tour may take.
func (facts Facts) tourSteps() int {
	switch {
	case facts.Outsider:
		return 0
	case facts.Want.Mailbox != nil:
		return MostSteps - mailSteps
	}
	return MostSteps
}

// nextOfTour asks about what the tour has found, or orders the next survey; false when the tour is through.
func (q *Inquiry) nextOfTour(facts Facts) (s Order, more bool) {
	if s, ok := q.askFound(facts, false); ok {
		return s, true
	}
	if v, ok := q.tour.next(facts.Want, facts.Wanted.Above); ok {
		q.steps++
		q.reading = true
		return Order{Walk: &v}, true
	}
	return q.askFound(facts, true)
}

// askFound asks about what the tour has found: for missing events first, as the
// events that name one are asked for once it is here, and for authors only when
// there are many, or at the end.
func (q *Inquiry) askFound(facts Facts, end bool) (s Order, ok bool) {
	w, most := &q.tour, facts.Bounds.Values
	switch {
	case len(w.missing) > 0:
		n := min(len(w.missing), most)
		return q.ask(missing, nostr.Filter{IDs: w.missing[:n:n]}, n), true
	case len(w.ids) > 0:
		hex := make([]string, 0, len(w.ids))
		for _, id := range w.ids {
			hex = append(hex, id.String())
		}
		f := reqfilter.AppendTags(nil, nil, 'e', hex, facts.Bounds)[0]
		return q.ask(answers, f, len(f.Tags[0].Values)), true
	case len(w.authors) >= most || end && len(w.authors) > 0:
		n := min(len(w.authors), most)
		return q.ask(authors, nostr.Filter{Kinds: facts.sayings(), Authors: w.authors[:n:n]}, n), true
	}
	return Order{}, false
}

// sayings are the kinds that are asked for by author.
func (facts Facts) sayings() []nostr.Kind {
	kinds := []nostr.Kind{nostr.KindMetadata, nostr.KindDeletion, nostr.KindVanish}
	if facts.Lists {
		kinds = append(kinds, nostr.KindRelayList, nip34.KindGraspList)
	}
	return kinds
}

// ask opens a question for so many values of its subject.
func (q *Inquiry) ask(about subject, f nostr.Filter, values int) Order {
	q.asked = question{about: about, filter: f, values: values, begun: q.steps}
	return Order{Ask: &f}
}

// end ends the round; why is empty when it came to its end.
func (q *Inquiry) end(why string) Order {
	e := &End{Steps: q.steps, Why: why}
	q.tour.end()
	q.round = round{}
	return Order{Ended: e}
}

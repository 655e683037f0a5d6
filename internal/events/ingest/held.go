package ingest

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// heldFor is how long the writer holds the verdict on a client's pull request whose commit was pushed before. Usually the commit is in the
// repository some milliseconds later.
const heldFor = 5 * time.Second

// held has the verdicts on waiting events whose commits are here already, until these events are served. So a client whose event is answered
// OK finds it. The verdicts on later events of the same source wait behind these, as each source hears its verdicts in order; the places of the
// source bound them. The writer owns held.
type held struct {
	by map[*Source][]heldAnswer // the first of each waits for its event to be served
}

type heldAnswer struct {
	answer
	until time.Time // when it is told at the latest; the zero time where only those before it hold it up
}

// hold keeps those of answers that have to wait, and returns the others. found has the events whose commits are here.
func (h *held) hold(answers []answer, found []nostr.ID, now time.Time) (tell []answer) {
	for _, a := range answers {
		x := heldAnswer{answer: a}
		if a.verdict.Outcome == policy.Wait && a.item.src.conf.Direct && slices.Contains(found, a.item.event.ID) {
			x.until = now.Add(heldFor)
		}
		if q := h.by[a.item.src]; len(q) > 0 || !x.until.IsZero() {
			if h.by == nil {
				h.by = make(map[*Source][]heldAnswer)
			}
			h.by[a.item.src] = append(q, x)
		} else {
			tell = append(tell, a)
		}
	}
	return tell
}

// served notes that events are served now: who has brought them hears so.
func (h *held) served(ids []nostr.ID) {
	for _, q := range h.by {
		for i := range q {
			if x := &q[i]; !x.until.IsZero() && slices.Contains(ids, x.item.event.ID) {
				x.served, x.until = true, time.Time{}
			}
		}
	}
}

// due returns the answers that nothing holds up any more. With all it returns all.
func (h *held) due(now time.Time, all bool) (tell []answer) {
	for src, q := range h.by {
		n := 0
		for n < len(q) && (all || !now.Before(q[n].until)) {
			tell = append(tell, q[n].answer)
			n++
		}
		if q = q[n:]; len(q) == 0 {
			delete(h.by, src)
		} else {
			h.by[src] = q
		}
	}
	return tell
}

// next returns when an answer is due even if nothing happens.
func (h *held) next() time.Time {
	first := never
	for _, q := range h.by {
		if q[0].until.Before(first) {
			first = q[0].until
		}
	}
	return first
}

package plan

import (
	"time"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
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

// referencing is layer 4 on one connection. One question is open at a time, and
// only while nothing else is to be asked: nobody waits for it.
type referencing struct {
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

// referencesDue says whether layer 4 is to be asked now; 1 is as early as a time can be, since 0 is not known.
func (p *Peer) referencesDue() bool { return p.referencesAt <= max(1, p.now.Mono) }

// tendReferences begins layer 4 when the catch-up of a full resync is through.
func (p *Peer) tendReferences() {
	c := p.conn
	if !p.referencesDue() || !p.Settled() && p.now.Mono < c.caughtBy {
		return
	}
	p.referencesAt = p.resyncAt
	c.references = referencing{active: true}
	if p.tour.rounds == 0 { // what is kept ends with the process: the next one begins elsewhere
		day := uint64(p.now.Wall.Unix() / 86_400)
		p.tour.from = want.Item(p.cfg.terms().Jitter(day) * float64(p.want.Numbers()))
	}
	p.tour.begin()
	p.round.Begin(p.want.Mailbox, p.cfg.terms().Jitter(uint64(p.now.Wall.Unix()/86_400)))
}

// nextReference takes the next step of layer 4. It returns the task to run now;
// nil when there is none.
func (p *Peer) nextReference() *task {
	r := &p.conn.references
	switch {
	case !r.active || r.sub != "" || r.asked.task != nil && !r.asked.parked:
		return nil
	case r.steps >= referenceSteps:
		p.endReferences("budget used up")
		return nil
	case r.failed >= mostRefusals || r.slowed >= mostRefusals:
		p.endReferences("not welcome")
		return nil
	case r.asked.task != nil:
		r.asked.parked = false
		return r.asked.task
	case p.now.Mono < r.after:
		return nil
	}
	r.after = p.now.Mono + referencePace
	if r.steps < p.tourSteps() {
		if t, more := p.nextOfTour(); more {
			return t
		}
	}
	if t := p.mailQuestion(); t != nil {
		return t
	}
	p.endReferences("")
	return nil
}

// nextOfTour asks what the tour has found, or surveys the next page; false when the tour is through.
func (p *Peer) nextOfTour() (t *task, more bool) {
	if t := p.question(false); t != nil {
		return t, true
	}
	if s, ok := p.tour.next(p.want, &p.wanted.itemSet); ok {
		r := &p.conn.references
		r.steps++
		r.sub = p.newSub("v")
		s.Sub = r.sub
		p.effect(s)
		return nil, true
	}
	t = p.question(true)
	return t, t != nil
}

// question asks the next thing that the tour has found; the authors only when
// there are many, or at the end. What is missing goes first, as what names it is
// asked for once it is here.
func (p *Peer) question(end bool) *task {
	w, b := &p.tour, p.conn.limits.bounds()
	switch {
	case len(w.missing) > 0:
		t := newQuestion(nostr.Filter{IDs: w.missing})
		// As in the last round of a fetch: asked as long as something comes.
		n := &reconciliation{fetching: fetching{need: w.missing, round: 2}}
		t.neg = n
		return p.ask(t, func() { w.fetched(n) })
	case len(w.ids) > 0:
		hex := make([]string, 0, len(w.ids))
		for _, id := range w.ids {
			hex = append(hex, id.String())
		}
		f := appendTagFilters(nil, nil, 'e', hex, b)[0]
		n := len(f.Tags[0].Values)
		return p.ask(newQuestion(f), func() { w.ids = w.ids[n:] })
	case len(w.authors) >= b.values || end && len(w.authors) > 0:
		n := min(len(w.authors), b.values)
		f := nostr.Filter{Kinds: p.sayings(), Authors: w.authors[:n:n]}
		return p.ask(newQuestion(f), func() { w.authors = w.authors[n:] })
	}
	return nil
}

// sayings are the kinds that are asked for by author.
func (p *Peer) sayings() []nostr.Kind {
	kinds := []nostr.Kind{nostr.KindMetadata, nostr.KindDeletion, nostr.KindVanish}
	if p.cfg.Mailboxes {
		kinds = append(kinds, nostr.KindRelayList, nip34.KindGraspList)
	}
	return kinds
}

func newQuestion(f nostr.Filter) *task {
	return &task{group: &group{lot: lot{layer: want.LayerReferences}, class: Daily}, filter: f}
}

func (p *Peer) ask(t *task, done func()) *task {
	r := &p.conn.references
	r.asked = question{task: t, begun: r.steps, done: done}
	return t
}

func (p *Peer) surveyed(in Surveyed) {
	r := &p.conn.references
	if r.sub == "" || in.Sub != r.sub {
		return
	}
	r.sub = ""
	if in.Failed {
		r.failed++
		r.after = p.now.Mono + surveyRetry
		return
	}
	p.tour.surveyed(in)
}

// count notes that something was asked for t.
func (r *referencing) count(t *task) {
	if t.group.layer == want.LayerReferences {
		r.steps++
	}
}

// questionSpent says whether the question has had its share of requests.
func (r *referencing) questionSpent() bool { return r.steps-r.asked.begun >= mostPerQuestion }

// questionOver ends the question: it is answered, or given up.
func (p *Peer) questionOver() {
	p.conn.references.asked.done()
	p.dropQuestion()
}

// questionFailed asks once more in a while what was not answered, and gives it
// up when the round ends for it.
func (p *Peer) questionFailed() {
	r := &p.conn.references
	if r.failed++; r.failed >= mostRefusals {
		p.questionOver()
		return
	}
	p.dropQuestion()
	r.after = p.now.Mono + firstRetry
}

// dropQuestion forgets that the question was asked; what is not done of it stays in the tour.
func (p *Peer) dropQuestion() {
	r := &p.conn.references
	if t := r.asked.task; t != nil {
		p.conn.abandon(t)
		t.over = true
		p.conn.leave(t)
	}
	r.asked = question{}
}

// makeWay puts the open question off when something else waits for its place.
// It reports whether it did.
func (p *Peer) makeWay() bool {
	r := &p.conn.references
	t := r.asked.task
	if t == nil || r.asked.parked || !p.conn.catchup.waits() {
		return false
	}
	if t.req.kind == asksStore {
		return false // it asks nothing of the relay, and ends soon
	}
	p.conn.abandon(t)
	p.conn.park(t)
	return true
}

// waits says whether a question of a lower layer is ready to be asked.
func (c *catchup) waits() bool {
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		for t := range c.ready[layer].All() {
			if !t.over {
				return true
			}
		}
		for g := range c.fresh[layer].All() {
			if !g.over {
				return true
			}
		}
	}
	return false
}

// endReferences ends the round; why is empty when it came to its end.
func (p *Peer) endReferences(why string) {
	r := &p.conn.references
	p.dropQuestion()
	p.tour.end()
	p.report(Debug, "references compared", "steps", r.steps, "cut_short", why)
	*r = referencing{}
}

// countStep notes that something was asked for t.
func (p *Peer) countStep(t *task) { p.conn.references.count(t) }

// slowedDown notes that the relay asked to slow down.
func (p *Peer) slowedDown() { p.conn.references.slowed++ }

// questionSpent says whether the question has had its share of requests.
func (p *Peer) questionSpent() bool { return p.conn.references.questionSpent() }

// questionParked has the question wait for its next turn.
func (p *Peer) questionParked() { p.conn.references.asked.parked = true }

// questionAnswered ends the question well.
func (p *Peer) questionAnswered() {
	p.conn.references.failed = 0
	p.questionOver()
}

package plan

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/want"
)

// The bounds of layer 4.
const (
	ReferenceSteps = referenceSteps
	ReferencePace  = referencePace
	MostQuestion   = mostPerQuestion
	MostFrames     = mostFrames
	PageReads      = pageReads
	PageIDs        = pageIDs
	MostNamed      = mostNamed
	MostForward    = mostForward
	MostMet        = mostMet
)

// References tells how layer 4 stands: whether it goes on and how many steps it
// took in this full resync.
func (p *Peer) References() (active bool, steps int) {
	if p.conn == nil {
		return false, 0
	}
	return p.conn.references.active, p.conn.references.steps
}

// AsksReferences says whether sub is a request of layer 4.
func (p *Peer) AsksReferences(sub string) bool {
	if p.conn == nil {
		return false
	}
	r := p.conn.requests[sub]
	return r != nil && r.task != nil && r.task.group.layer == want.LayerReferences
}

// ValuesOf returns what other events are about in an item.
func ValuesOf(w *want.Want, it want.Item) Values { return itemValues(w, it) }

func (w *tour) check() error {
	if len(w.frames) > mostFrames {
		return fmt.Errorf("%d frames", len(w.frames))
	}
	for i, f := range w.frames {
		if most := max(frameValues, pageIDs+mostForward+1+pageIDs); f.size() == 0 || f.size() > most {
			return fmt.Errorf("frame %d has %d values", i, f.size())
		}
	}
	if len(w.authors) > 5*pageIDs+pageReads {
		return fmt.Errorf("%d authors wait", len(w.authors))
	}
	if len(w.missing) > pageIDs+mostNamed || len(w.ids) > 3*pageIDs || len(w.page) > 3*pageIDs || len(w.met) > mostMet {
		return fmt.Errorf("%d missing, %d ids, a page of %d, %d authors met", len(w.missing), len(w.ids), len(w.page), len(w.met))
	}
	return nil
}

func (p *Peer) checkReferences() error {
	c := p.conn
	r := &c.references
	t := r.asked.task
	running := 0
	for _, x := range c.running {
		if x.group.layer == want.LayerReferences {
			running++
		}
	}
	switch {
	case running > 1:
		return fmt.Errorf("%d questions of layer 4 at once", running)
	case (running == 1) != (t != nil && !r.asked.parked):
		return fmt.Errorf("%d questions of layer 4 run, one is asked %v, parked %v", running, t != nil, r.asked.parked)
	case running == 1 && !slices.Contains(c.running, t):
		return fmt.Errorf("another question runs than is asked")
	case t != nil && r.sub != "":
		return fmt.Errorf("a question and a survey at once")
	case !r.active && (t != nil || r.sub != ""):
		return fmt.Errorf("layer 4 goes on and has ended")
	case r.steps > referenceSteps+mostPerQuestion:
		return fmt.Errorf("%d steps in one full resync", r.steps)
	case running == 1 && len(c.running) >= p.conn.atOnce() && c.waits() && t.req.kind != asksStore && p.now.Mono >= c.pausedTill:
		return fmt.Errorf("layer 4 is in the way of others")
	}
	return nil
}

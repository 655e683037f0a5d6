package peer

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/sync/peer/threads"
	"github.com/graspd/graspd/internal/sync/want"
)

// The bounds of layer 4.
const (
	ReferenceSteps = threads.MostSteps
	ReferencePace  = threads.Pace
	MostQuestion   = threads.MostRequests
)

// References tells how layer 4 stands: whether it goes on and how many steps it
// took in this full resync.
func (p *Peer) References() (active bool, steps int) {
	if p.conn == nil {
		return false, 0
	}
	return p.references.inquiry.Active(), p.references.inquiry.Steps()
}

// AsksReferences says whether sub is a request of layer 4.
func (p *Peer) AsksReferences(sub string) bool {
	if p.conn == nil {
		return false
	}
	r := p.conn.requests[sub]
	return r != nil && r.task != nil && r.task.group.Layer == want.LayerReferences
}

// checkTour holds what a tour holds against its bounds.
func checkTour(h threads.TourSize) error {
	return hold([]bound{
		{"authors that wait", h.Authors, 5 * threads.MostReached},
		{"ids and missing ids", h.Missing + h.IDs, threads.MostReached},
		{"authors met", h.Met, threads.MostMet},
	})
}

func (p *Peer) checkReferences() error {
	c := p.conn
	r := &p.references
	t := r.task
	running := 0
	for _, x := range c.running {
		if x.group.Layer == want.LayerReferences {
			running++
		}
	}
	switch {
	case running > 1:
		return fmt.Errorf("%d questions of layer 4 at once", running)
	case (running == 1) != r.inquiry.Asking():
		return fmt.Errorf("%d questions of layer 4 run, one is asked %v, on its turn %v", running, t != nil, r.inquiry.Asking())
	case running == 1 && p.suspects.task != nil:
		return fmt.Errorf("suspects are tried beside a question of layer 4")
	case r.inquiry.Asking() && t == nil:
		return fmt.Errorf("a question without a task")
	case running == 1 && !slices.Contains(c.running, t):
		return fmt.Errorf("another question runs than is asked")
	case t != nil && r.sub != "":
		return fmt.Errorf("a question and a survey at once")
	case !r.inquiry.Active() && (t != nil || r.sub != ""):
		return fmt.Errorf("layer 4 goes on and has ended")
	case r.inquiry.Steps() > threads.MostSteps+threads.MostRequests:
		return fmt.Errorf("%d steps in one full resync", r.inquiry.Steps())
	case running == 1 && len(c.running) >= p.conn.atOnce() && c.waits() && t.req.kind != asksStore && !c.paused():
		return fmt.Errorf("layer 4 is in the way of others")
	}
	return nil
}

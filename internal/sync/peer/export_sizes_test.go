package peer

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/gaps"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
)

// checkSizes holds everything that can grow against its bound, or against what is wanted and under way.
func (p *Peer) checkSizes() error {
	repos := 0
	if p.want != nil {
		repos = len(p.want.Repos)
	}
	bounds := []bound{
		{"pages of the wanted", p.wanted.Spread(), p.wanted.Len()},
		{"items that are wanted more than once", p.wanted.Repeats(), p.wanted.Len()},
		{"pages of the confirmed", p.confirmed.Spread(), p.confirmed.Len()},
		{"pages of the held", p.held.Spread(), p.held.Len()},
		{"proven items", p.proven.Len(), p.wanted.Len()},
		{"pages of the proven", p.proven.Spread(), p.proven.Len()},
		{"owners of a dead relay", len(p.dialing.Record(p.now, true).Owners), history.MostOwners},
		{"last gaps", len(p.gaps.Last()), gaps.MostGaps},
		{"filters that were read before the connection was lost", len(p.left.pages), mostLeft},
		{"events that are too large", len(p.left.large), mostLarge},
		{"withheld", p.comparing.withheld.Len(), reconcile.MostWithheld},
		{"withheld of the whole", p.unfiltered.hidden.Len(), reconcile.MostWithheld},
	}
	bounds = append(bounds, bound{"shares of repositories", p.Shares(), 3 * (3*repos + coverage.MostFormer)})
	if p.conn != nil {
		bounds = append(bounds, p.conn.bounds(p)...)
	}
	return hold(bounds)
}

// bound is that something has no more than that.
type bound struct {
	what     string
	has, may int
}

func hold(bounds []bound) error {
	for _, b := range bounds {
		if b.has > b.may {
			return fmt.Errorf("%s: %d, bounded by %d", b.what, b.has, b.may)
		}
	}
	return nil
}

func (c *connection) bounds(p *Peer) []bound {
	open := 0
	for _, g := range c.groups {
		open += g.open
	}
	times, late := c.followed.Size()
	closed, again := c.closes.Size()
	alive := slices.Concat(c.running, c.later)
	for layer := range c.ready {
		for t := range c.ready[layer].All() {
			if !t.over {
				alive = append(alive, t)
			}
		}
	}
	settling := 0
	for _, t := range alive {
		settling += len(t.undecided)
	}
	all := []bound{
		{"live REQs", c.planner.Len(), capacity.MostSubs},
		{"lots that wait", len(c.planner.Waiting()), p.wanted.Len()},
		{"polls", len(c.planner.Polls()), p.wanted.Len()},
		{"root events that rise", c.planner.Promotions(), p.wanted.Len()},
		{"groups", len(c.groups), p.wanted.Len() + 1}, // one that compares everything
		{"tasks that run", len(c.running), capacity.RequestsAtOnce + mostAtDoor},
		{"tasks for which the relay has something to do", c.asking(nil), capacity.RequestsAtOnce},
		{"tasks that were put off", len(c.later), open},
		{"requests", len(c.requests), c.planner.Len() + len(c.running) + settling},
		{"CLOSEs that are remembered", closed, refusal.MostCloses},
		{"CLOSEs to be sent again", again, refusal.MostCloses},
		{"items that came late", late, gaps.MostLate},
		{"times at which items came late", times, late},
	}
	for layer := range c.fresh {
		all = append(all, bound{"groups to be begun", c.fresh[layer].Len(), 2*len(c.groups) + spareQueue},
			bound{"tasks that are ready", c.ready[layer].Len(), max(open, tasksPerGroup*len(c.groups)) + spareQueue})
	}
	for _, t := range alive {
		all = append(all, t.bounds(p)...)
	}
	return all
}

func (t *task) bounds(p *Peer) (all []bound) {
	if t.over {
		all = append(all, bound{"tasks that are over and still run", 1, 0})
	}
	if g := t.pager; g != nil {
		h := g.Size()
		all = append(all, bound{"ids that were seen", h.Seen, paging.MostSeen + capacity.PageLimit + requestRoom},
			bound{"ranges to be asked", h.Ranges, 1 + 3*h.Pages + paging.MostLarge}, bound{"pages", h.Pages, paging.MaxPages})
	}
	if n := t.neg; n != nil {
		h := n.Size()
		all = append(all, bound{"ids that are needed", h.Awaited, p.comparing.needed}, bound{"requests that are being decided", len(t.undecided), mostUndecided},
			bound{"windows", h.Windows, 1 + h.Opens}, bound{"NEG-OPENs", h.Opens, reconcile.MostOpens}, bound{"ids that the relay lacks", h.Lacks, h.Set})
		if !t.group.byItems() {
			all = append(all, bound{"ids that the relay lacks of everything", len(t.lacks), t.differ})
		}
	}
	if r := t.req; r != nil {
		all = append(all, bound{"events of a request", r.events, max(r.most, 1)}, bound{"undecided events", r.undecided, r.events})
		if r.batch != nil {
			all = append(all, bound{"ids that are awaited", len(r.batch.Lacks()), capacity.MostIDs})
		}
	}
	return all
}

// Shares counts the repositories of which it is known what the relay has.
func (p *Peer) Shares() int {
	return len(slices.Collect(p.coverage.Kept()))
}

// Covered counts those of one owner that are wanted.
func (p *Peer) Covered(owner nostr.PubKey) (n int) {
	for _, r := range p.want.Repos {
		if r.Owner == owner && slices.Contains(slices.Collect(p.coverage.Kept()), r.Ord) {
			n++
		}
	}
	return n
}

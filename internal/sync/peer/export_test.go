package peer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// What is wanted, under the names that the tests of this package call it by.
type (
	Want     = want.Want
	RepoWant = want.RepoWant
	Item     = want.Item
	URL      = want.URL
)

// isUndecided says whether the task of r went on while r is decided.
func (r *request) isUndecided() bool {
	return !r.task.over && r.batch != nil && r.task.neg.Fetching() && slices.Contains(r.task.undecided, r)
}

// MostUndecided is how many requests by id may wait for the door beside the open one.
const MostUndecided = mostUndecided

// MostAtDoor is how many tasks more may run than the relay is asked for at once.
const MostAtDoor = mostAtDoor

// Holds says whether an item is confirmed.
func (p *Peer) Holds(it want.Item) bool { return p.confirmed.Has(it) }

// Current returns the Want that p works on, and whether it is connected.
func (p *Peer) Current() (*want.Want, bool) { return p.want, p.conn != nil }

// AddsKinds says whether kinds are added to filters without.
func (p *Peer) AddsKinds() bool { return p.demands.kinds.Mode() != demands.NoKinds }

// Gaps counts the gaps so far.
func (p *Peer) Gaps() uint64 { return p.counted.Gaps }

// HeldItems counts what was confirmed before the connection and is not yet again.
func (p *Peer) HeldItems() int { return p.held.Len() }

// Mark returns the last sign of life for which nothing is held.
func (p *Peer) Mark() backoff.Now { return p.mark }

// Polled says whether any item has no live REQ and is polled instead.
func (p *Peer) Polled() bool {
	return p.conn != nil && (len(p.conn.planner.Polls()) > 0 || slices.ContainsFunc(p.conn.groups, func(g *group) bool { return g.polled }))
}

// PolledIDs returns the root events that wait for their turn.
func (p *Peer) PolledIDs() (ids []nostr.ID) {
	if p.conn == nil {
		return nil
	}
	for _, s := range p.conn.planner.Polls() {
		for _, it := range s.Items {
			if s.Layer == want.LayerRoots {
				ids = append(ids, p.want.Root(it))
			}
		}
	}
	return ids
}

// Bears tells what the relay is believed to bear.
func (p *Peer) Bears() any { return p.conn.limits }

// Displaces says whether a root event is followed that ranks below that and is asked no more, in a REQ that the relay would
// still bear.
func (p *Peer) Displaces(rank int64) bool {
	limits := p.conn.limits
	for _, l := range p.conn.planner.REQs() {
		if l.Isolation != itemset.Shared || !limits.Fits(l.Size, limits.Dense()) {
			continue
		}
		for _, x := range l.Lots() {
			if slices.ContainsFunc(x.Items, func(it want.Item) bool { return p.want.Rank(it) < rank && p.confirmed.Has(it) }) {
				return true
			}
		}
	}
	return false
}

// Asks returns the stored filters of one item.
func Asks(w *want.Want, it want.Item) []nostr.Filter {
	return reqfilter.Of(w, w.Layer(it), []want.Item{it}, false, reqfilter.Bounds{Values: 1 << 20})
}

// Check looks for contradictions in what a peer keeps.
func (p *Peer) Check() error {
	wanted := wanttest.Items(p.want)
	if len(wanted) != p.wanted.Len() {
		return fmt.Errorf("%d items are wanted, %d counted", len(wanted), p.wanted.Len())
	}
	inWant := make(map[Item]bool)
	for _, it := range wanted {
		inWant[it] = true
	}
	n, h := 0, 0
	for it := range inWant {
		if p.confirmed.Has(it) {
			n++
		}
		if p.held.Has(it) {
			h++
			if p.confirmed.Has(it) {
				return fmt.Errorf("item %d is held and confirmed", it)
			}
		}
	}
	if n != p.confirmed.Len() || h != p.held.Len() {
		return fmt.Errorf("%d items confirmed and %d held, of which wanted %d and %d", p.confirmed.Len(), p.held.Len(), n, h)
	}
	if err := p.checkFigures(); err != nil {
		return err
	}
	if err := p.suspects.check(inWant); err != nil {
		return err
	}
	if err := checkTour(p.references.inquiry.Size()); err != nil {
		return err
	}
	if err := p.checkSizes(); err != nil {
		return err
	}
	if p.conn == nil {
		return nil
	}
	if err := p.checkReferences(); err != nil {
		return err
	}
	return p.conn.check(p, inWant)
}

func (c *connection) check(p *Peer, wanted map[Item]bool) error {
	place, group := make(map[Item]string), make(map[Item]*group)
	put := func(where string, l itemset.Lot) error {
		for _, it := range l.Items {
			if !wanted[it] {
				return fmt.Errorf("item %d in %s is not wanted", it, where)
			}
			if place[it] != "" {
				return fmt.Errorf("item %d is in %s and in %s", it, place[it], where)
			}
			if p.want.Layer(it) != l.Layer {
				return fmt.Errorf("item %d of layer %d in a lot of layer %d", it, p.want.Layer(it), l.Layer)
			}
			place[it] = where
		}
		return nil
	}
	for _, g := range c.groups {
		for _, it := range g.Items {
			if group[it] != nil {
				return fmt.Errorf("item %d is in two groups", it)
			}
			group[it] = g
		}
		if g.polled {
			if err := put("polled group", g.Lot); err != nil {
				return err
			}
		}
	}
	last := time.Duration(0)
	for _, s := range c.planner.Polls() {
		if err := put("poll", s.Lot); err != nil {
			return err
		}
		if s.At < last {
			return fmt.Errorf("a poll is due at %v, before the one in front of it", s.At)
		}
		last = s.At
	}
	for _, w := range c.planner.Waiting() {
		if err := put("waiting", w.Lot); err != nil {
			return err
		}
	}
	for _, it := range p.suspects.under.All() {
		if err := put("suspects", itemset.Lot{Layer: want.LayerRepositories, Items: []want.Item{it}}); err != nil {
			return err
		}
	}
	open := make(map[Item]bool)
	if err := c.planner.Check(p.want); err != nil {
		return err
	}
	for _, l := range c.planner.REQs() {
		for _, x := range l.Lots() {
			if err := put("live "+l.Sub, x); err != nil {
				return err
			}
			for _, it := range x.Items {
				open[it] = l.Open
			}
		}
	}
	for it := range wanted {
		where := place[it]
		switch {
		case where == "":
			return fmt.Errorf("item %d is nowhere", it)
		case p.confirmed.Has(it) && where == "waiting":
			return fmt.Errorf("item %d is confirmed and waits for a live REQ", it)
		case p.confirmed.Has(it) && !open[it] && strings.HasPrefix(where, "live"):
			return fmt.Errorf("item %d is confirmed in a REQ that is not open", it)
		case group[it] != nil && where == "suspects":
			return fmt.Errorf("item %d is suspected and asked", it)
		case p.confirmed.Has(it) && where == "suspects":
			return fmt.Errorf("item %d is suspected and confirmed", it)
		case group[it] != nil && where == "waiting":
			return fmt.Errorf("item %d is asked before it has a live REQ", it)
		case group[it] == nil && !p.confirmed.Has(it) && where == "poll":
			return fmt.Errorf("item %d is polled, not confirmed and not asked", it)
		case group[it] == nil && !p.confirmed.Has(it) && open[it]:
			return fmt.Errorf("item %d is followed, not confirmed and not asked", it)
		}
	}
	for _, w := range c.planner.Waiting() {
		if w.After == backoff.Never && !p.demands.auth.Awaited() {
			return fmt.Errorf("items wait for a verdict on AUTH that is not to come")
		}
	}
	if p.CaughtUp() {
		for it := range wanted {
			if p.confirmed.Has(it) {
				continue
			}
			if !c.putOff(it, p.now.Mono) && !p.suspects.under.Has(it) {
				return fmt.Errorf("caught up, and item %d in %s is neither confirmed nor put off", it, place[it])
			}
		}
	}
	return c.checkTasks(p.demands.auth.Awaited())
}

// check looks for suspects that are not wanted, and for a trial on one side alone.
func (s *suspects) check(wanted map[Item]bool) error {
	for _, it := range s.under.All() {
		if !wanted[it] {
			return fmt.Errorf("suspect %d is not wanted", it)
		}
	}
	if s.task == nil && s.under.Tried() != nil {
		return errors.New("items are tried, and there is no task")
	}
	return nil
}

// Refuses lists the repositories that the relay is taken to refuse.
func (p *Peer) Refuses() (out []want.Repository) {
	for _, it := range p.suspects.under.All() {
		if p.suspects.under.Refuses(it) {
			out = append(out, *p.want.Repository(it))
		}
	}
	return out
}

// Suspects counts the repositories under suspicion.
func (p *Peer) Suspects() int { return p.suspects.under.Len() }

// putOff says whether an item waits for a time to come, with its live REQ or with its stored filters.
func (c *connection) putOff(it want.Item, now time.Duration) bool {
	return slices.ContainsFunc(c.planner.Waiting(), func(w *livesubs.Waiting) bool { return w.After > now && slices.Contains(w.Items, it) }) ||
		slices.ContainsFunc(c.later, func(t *task) bool { return slices.Contains(t.group.Items, it) })
}

func (c *connection) checkTasks(awaited bool) error {
	queued := make(map[*task]int)
	for _, q := range c.ready {
		for t := range q.All() {
			if !t.over {
				queued[t]++
			}
		}
	}
	for _, t := range slices.Concat(c.running, c.later, slices.Collect(c.again.All())) {
		queued[t]++
	}
	fresh := make(map[*group]bool)
	for _, q := range c.fresh {
		for g := range q.All() {
			fresh[g] = true
		}
	}
	for _, g := range c.groups {
		if g.over || (g.tasks == nil) != fresh[g] {
			return fmt.Errorf("a group of layer %d with %d tasks is over %v, waits to be begun %v", g.Layer, len(g.tasks), g.over, fresh[g])
		}
		if g.tasks == nil {
			continue
		}
		open := 0
		for _, t := range g.tasks {
			if !t.over {
				open++
				if queued[t] != 1 {
					return fmt.Errorf("a task of layer %d is in %d queues", g.Layer, queued[t])
				}
			}
		}
		if open != g.open || open == 0 {
			return fmt.Errorf("a group has %d open tasks and counts %d", open, g.open)
		}
	}
	for sub, r := range c.requests {
		if r.sub != sub || r.task != nil && r.task.req != r && !r.isUndecided() || r.live != nil && !slices.Contains(c.planner.REQs(), r.live) {
			return fmt.Errorf("request %s belongs to nothing", sub)
		}
	}
	for _, t := range c.later {
		if t.pager != nil && t.pager.Size().Seen > 0 {
			return fmt.Errorf("a task that was put off knows %d ids", t.pager.Size().Seen)
		}
		if t.after == backoff.Never && !awaited {
			return fmt.Errorf("a task waits for a verdict on AUTH that is not to come")
		}
	}
	for _, t := range c.running {
		if t.req == nil && (t.neg == nil || len(t.undecided) == 0 || t.neg.Needs() > 0) {
			return fmt.Errorf("a running task has no request")
		}
	}
	return nil
}

// SetMostNeeded bounds the ids that one reconciliation waits for.
func (p *Peer) SetMostNeeded(n int) { p.comparing.needed = n }

// RequestRoom is how many events above its limit are read of a stored REQ.
const RequestRoom = requestRoom

// Unproven says whether one of these items is not proven to be complete; without any, whether anything is not.
func (p *Peer) Unproven(items ...want.Item) bool {
	return len(items) == 0 && p.unproven.Len() > 0 || slices.ContainsFunc(items, p.unproven.Has)
}

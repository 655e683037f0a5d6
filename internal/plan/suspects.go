package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/want"
)

// Some relays refuse a whole request, or do not answer it, for one value that
// they do not take: one that is too long, or that holds a control character. The
// values of repositories are chosen by strangers. So that nobody's value keeps
// away what others wrote, repositories are suspected: those with a value that
// known relays refuse at once, others when a request with them was refused or
// not answered and nothing tells why. A suspect stands in no live REQ and no
// group. It is tried by a small REQ of its own, in sets that are halved while the
// relay refuses them, until what it refuses is alone.
//
// Before a refusal counts that does not speak of a value, a trial with a value
// that nobody can object to shows that the relay answers at all.

// suspects are the repositories under suspicion at one relay. They outlive
// connections; what is remembered of them is bounded by what is wanted.
type suspects struct {
	items   itemSet // all of them
	doubted itemSet // no suspects yet, and to be tried
	refused itemSet // of these, what the relay is taken to refuse
	sets    []*suspected
	accused *suspected    // it was refused, and counts once the relay has answered another trial
	after   time.Duration // no trial before
	retrial time.Duration // no trial of what is taken for refused before
	silent  int           // in a row, trials that nobody can object to and that failed
	losses  int           // connections that ended with a trial
	trial   trial
}

// suspected is a set that is tried by one REQ.
type suspected struct {
	items []want.Item
	free  bool          // they are no suspects before they are refused
	odd   bool          // known relays refuse a value of each: tried last
	after time.Duration // not before
	tries int           // refusals, of one alone
	hangs bool          // the relay hung up when it was tried
}

// suspect takes items out of all other places. Those that the relay has shown to
// take on this connection are never suspected: it reports whether there were others.
func (p *Peer) suspect(items []want.Item, odd bool) bool {
	s := &p.suspects
	fresh := slices.DeleteFunc(slices.Clone(items), func(it want.Item) bool { return !p.dubious(it) || s.items.has(it) })
	if len(fresh) == 0 {
		return false
	}
	for _, part := range p.trialParts(fresh) {
		s.sets = append(s.sets, &suspected{items: part, odd: odd})
	}
	p.accuse(fresh)
	return true
}

// mistrust has items tried that stay where they are until a trial is refused.
func (p *Peer) mistrust(items []want.Item) {
	s := &p.suspects
	fresh := slices.DeleteFunc(slices.Clone(items), func(it want.Item) bool { return !p.dubious(it) || s.items.has(it) || s.doubted.has(it) })
	for _, it := range fresh {
		s.doubted.put(it)
	}
	for _, part := range p.trialParts(fresh) {
		s.sets = append(s.sets, &suspected{items: part, free: true})
	}
}

// dubious says whether an item may be a suspect.
func (p *Peer) dubious(it want.Item) bool {
	return p.wanted.has(it) && p.want.Layer(it) == want.LayerRepositories && (p.conn == nil || !p.conn.borne.has(it))
}

// accuse makes suspects of items.
func (p *Peer) accuse(items []want.Item) {
	for _, it := range items {
		p.suspects.items.put(it)
		p.suspects.doubted.drop(it)
		p.confirmed.drop(it)
	}
	if p.conn != nil {
		p.unplace()
	}
}

// unplace takes suspects out of live REQs, groups and sweeps, and from among
// those that wait. A live REQ that never was answered may be one that the relay
// takes no notice of for a suspect's sake: what else is in it is asked anew.
func (p *Peer) unplace() {
	c, is := p.conn, p.suspects.items.has
	p.conn.cancelMergeOf(func(l *liveReq) bool { return holds(l.lots, is) })
	for _, l := range slices.Clone(c.following.live) {
		if !holds(l.lots, is) {
			continue
		}
		l.lots = prune(l.lots, is)
		if r := c.requests[l.sub]; l.keeper == nil && r != nil && !r.answered && l.by == nil && len(l.parts) == 0 {
			p.conn.closeLive(l)
			p.conn.requeue(l.lots, l.sent.Wall, p.now.Mono, l.tries)
		}
	}
	for _, g := range slices.Clone(c.groups) {
		if !slices.ContainsFunc(g.items, is) || g.whole {
			continue
		}
		rest := g.lot
		rest.items = slices.DeleteFunc(slices.Clone(g.items), is)
		p.dropGroups(func(x *group) bool { return x == g })
		p.addGroups(rest, g.class, g.swept)
	}
	c.lose(is)
	p.conn.shrink()
}

func holds(lots []lot, is func(want.Item) bool) bool {
	return slices.ContainsFunc(lots, func(x lot) bool { return slices.ContainsFunc(x.items, is) })
}

// suspectOdd suspects what waits and has values that known relays refuse.
func (p *Peer) suspectOdd() {
	var odd []want.Item
	for _, w := range p.conn.waiting {
		if w.apart == apartLong {
			odd = append(odd, w.items...)
		}
	}
	if len(odd) > 0 {
		p.suspect(odd, true)
	}
}

// suspectGroup suspects the repositories of a group that the relay refused or
// did not answer. It reports whether there are any that may be.
func (p *Peer) suspectGroup(g *group) bool {
	return g.layer == want.LayerRepositories && !g.whole && p.suspect(slices.Clone(g.items), false)
}

func itemsOf(lots []lot) []want.Item { return slices.Collect(each(lots)) }

// withoutSuspects returns what is left of lots.
func (p *Peer) withoutSuspects(lots []lot) []lot { return prune(lots, p.suspects.items.has) }

// unanswered puts a task off that failed for no known reason. When that was not
// the first time its values are doubted.
func (p *Peer) unanswered(r *request, why string) {
	if t := r.task; t.tries > 0 && r.kind != asksIDs && t.group.layer == want.LayerRepositories {
		p.mistrust(t.group.items)
	}
	p.taskFailed(r.task, why)
}

// valueRefused takes a NOTICE that speaks of a value, for whoever it may be
// about. It reports whether there is anybody.
func (p *Peer) valueRefused(text string) bool {
	if t := p.suspects.trial.task; t != nil && t.req != nil && !t.req.answered {
		p.refuseStored(t.req, text)
		return true
	}
	found := false
	for _, t := range slices.Clone(p.conn.running) {
		r := t.req
		if r == nil || r.answered || r.kind == asksIDs || r.kind == asksStore || r.kind == asksNeg && !t.neg.opened {
			continue
		}
		found = p.suspectGroup(t.group) || found
	}
	for _, l := range slices.Clone(p.conn.following.live) {
		if !l.open && p.conn.requests[l.sub] != nil && slices.ContainsFunc(l.lots, func(x lot) bool { return x.layer == want.LayerRepositories }) {
			p.conn.liveRefused(l, text, l.sent.Wall)
			found = true
		}
	}
	return found
}

// sure forgets what is only doubted.
func (s *suspects) sure() {
	s.doubted.clear()
	if s.accused != nil && s.accused.free {
		s.accused = nil
	}
	s.tidy()
}

// acquit ends all suspicion, as nothing is asked by a value any more, and returns who was under it.
func (p *Peer) acquit() []want.Item {
	p.dropTrial()
	items := slices.Collect(p.suspects.items.above(0))
	p.suspects = suspects{}
	return items
}

// drop forgets an item that is wanted no more.
func (s *suspects) drop(it want.Item) {
	s.items.drop(it)
	s.doubted.drop(it)
	s.refused.drop(it)
}

// again has everything tried anew that is taken for refused. What the relay hung up for waits for a full resync, or a
// relay that is long in coming back would never get further.
func (s *suspects) again(resync bool) {
	for _, x := range s.sets {
		if x.hangs && !resync {
			continue
		}
		x.after, x.tries, x.hangs = 0, 0, false
		for _, it := range x.items {
			s.refused.drop(it)
		}
	}
	s.after, s.retrial, s.silent = 0, 0, 0
	if resync {
		s.losses = 0
	}
}

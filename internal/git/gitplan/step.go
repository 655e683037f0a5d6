package gitplan

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// lookedAt bounds how many repositories one Step looks at. The next Steps look at the others.
const lookedAt = 2048

// lookOn is how long the others wait at most for the next Step.
const lookOn = time.Second

// Step returns what to do now. Owners take turns. Servers that have never answered take half of the places at most, so that dead servers do not
// hold up repositories that a living one has.
func (p *Plan) Step(now backoff.Now) (out Effects) {
	out.Stop = p.useless()
	p.returns(now)
	p.dueBy(now)
	p.blocked = backoff.Never
	c := p.census(now)
	whole := p.turns(now, c, &out)
	p.surveying(now, c, &out)
	out.Stop = append(out.Stop, p.evict(now, c)...)
	if out.Wake = p.wake(now); !whole && (out.Wake == 0 || out.Wake > lookOn) {
		out.Wake = lookOn
	}
	p.forget(now)
	return out
}

// dueBy moves the repositories whose rounds are due into their owners' queues. A repository that lacks less since then may have its round
// later, and goes back.
func (p *Plan) dueBy(now backoff.Now) {
	for len(p.later) > 0 && p.later[0].at <= now.Mono {
		r := heap.Pop(&p.later).(*repo)
		if r.next() <= now.Mono {
			r.ready = true
			p.ready.Push(r.of.PubKey, r)
		} else {
			p.later.put(r)
		}
	}
}

// census counts the fetches under way.
type census struct {
	young, all, unproven int
	owners               map[nostr.PubKey]int // young fetches
	ofOwners             map[nostr.PubKey]int // all fetches
	repos                map[nip34.Address][]*running
	names                map[string]int // by host, all its ports together
}

func (p *Plan) census(now backoff.Now) *census {
	c := &census{owners: map[nostr.PubKey]int{}, ofOwners: map[nostr.PubKey]int{}, repos: map[nip34.Address][]*running{}, names: map[string]int{}}
	for _, f := range p.fetches {
		c.add(f, p.hosts[f.host].proven, now)
	}
	return c
}

func (c *census) add(f *running, proven bool, now backoff.Now) {
	c.all++
	if !f.heard {
		c.names[f.name]++
	}
	c.ofOwners[f.Of.PubKey]++
	if f.young(now) {
		c.young++
		c.owners[f.Of.PubKey]++
		if !proven {
			c.unproven++
		}
	}
	if len(f.Needs) > 0 {
		c.repos[f.Of] = append(c.repos[f.Of], f)
	}
}

// full reports whether every host of a repository has as many fetches as it may. Most of thousands of repositories of one host wait for that, and
// full saves each step from finding out the next source of each.
func (c *census) full(r *repo) bool {
	for _, t := range r.turns {
		if c.names[t.host] < PerHost {
			return false
		}
	}
	return true
}

// room reports whether one more fetch may begin.
func (p *Plan) room(c *census) bool {
	return c.young < p.cfg.Concurrency && c.all < p.most()
}

// most returns how many fetches there may be at a time, with those that take long.
func (p *Plan) most() int { return p.cfg.Concurrency * (1 + overtimes) }

// hasEnough reports whether an owner has all the places that one may have.
func (p *Plan) hasEnough(c *census, owner nostr.PubKey) bool {
	return c.owners[owner] >= p.half() || c.ofOwners[owner] >= p.half()*(1+overtimes)
}

// half returns how many places one owner takes at most, and how many all servers that never answered take together.
func (p *Plan) half() int { return max(1, p.cfg.Concurrency/2) }

// useless returns the fetches whose data nobody wants any more.
func (p *Plan) useless() (ids []uint64) {
	for id, f := range p.fetches {
		if len(f.Needs) == 0 || f.stopped {
			continue
		}
		r := p.repos[f.Of]
		if f.stopped = r == nil || !slices.ContainsFunc(r.needs, func(n need) bool { return slices.Contains(f.Needs, n.Event) }); f.stopped {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// evict stops the fetch that takes longest, quiet ones first, where a repository waits and long fetches take all the places that it could
// have: all of them, those of its owner, or its own.
func (p *Plan) evict(now backoff.Now, c *census) []uint64 {
	if c.young >= p.cfg.Concurrency {
		return nil
	}
	full := c.all >= p.most() && p.waits(now, c, p.ready.Parties()...)
	kept := p.aged()
	var longest *running
	for _, f := range p.fetches {
		switch owner := f.Of.PubKey; {
		case f.stopped:
			return nil // a place gets free in a moment
		case f.young(now) || len(p.ready.Parties()) == 0 || kept[f.ID]:
		case !full && !p.crowded(c, f) && (c.ofOwners[owner] < p.half()*(1+overtimes) || !p.waits(now, c, owner)):
		case longest == nil, f.quiet && !longest.quiet,
			f.quiet == longest.quiet && (f.began.Mono < longest.began.Mono || f.began.Mono == longest.began.Mono && f.ID < longest.ID):
			longest = f
		}
	}
	if longest == nil {
		return nil
	}
	longest.stopped, longest.evicted = true, true
	return []uint64{longest.ID}
}

// aged returns the fetches that evict spares, as it has stopped them before: one of each repository, and at most half of the places together.
// Those that were first stopped longest ago come first. So each long fetch comes to its end at last.
func (p *Plan) aged() map[uint64]bool {
	type aged struct {
		f     *running
		since time.Duration
	}
	var list []aged
	for _, f := range p.fetches {
		if r := p.repos[f.Of]; r != nil && len(f.Needs) > 0 {
			if t := r.turns[f.Source]; t != nil && t.stopped > 0 {
				list = append(list, aged{f, t.stopped})
			}
		}
	}
	slices.SortFunc(list, func(a, b aged) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.f.ID, b.f.ID)) })
	kept, of := map[uint64]bool{}, map[nip34.Address]bool{}
	for _, x := range list {
		if len(kept) < p.most()/2 && !of[x.f.Of] {
			kept[x.f.ID], of[x.f.Of] = true, true
		}
	}
	return kept
}

// waits reports whether a repository of these owners waits for nothing but a place. It looks at lookedAt of them at most.
func (p *Plan) waits(now backoff.Now, c *census, owners ...nostr.PubKey) bool {
	looked := 0
	for _, owner := range owners {
		for _, r := range p.ready.Waiting(owner) {
			if looked++; looked > lookedAt {
				return false
			}
			if p.repos[r.of] != r || !mayBegin(now, c.repos[r.of]) {
				continue
			}
			if _, found, _ := p.source(now, r, c); found {
				return true
			}
		}
	}
	return false
}

// crowded reports whether a repository has so many fetches, f among them, that the plan asks no other source of it.
func (p *Plan) crowded(c *census, f *running) bool {
	r := p.repos[f.Of]
	return r != nil && r.ready && len(c.repos[f.Of]) >= sourcesAtOnce
}

// turns begins the fetches that may begin, one of each owner after the other. It reports whether it looked at every repository, or ran out of
// places.
func (p *Plan) turns(now backoff.Now, c *census, out *Effects) (whole bool) {
	looked, began := 0, false
	take := func(owner nostr.PubKey, list []*repo) []*repo {
		var kept []*repo
		for began = false; len(list) > 0 && !began && looked < lookedAt && !p.hasEnough(c, owner); list = list[1:] {
			looked++
			var stays bool
			if began, stays = p.turn(now, list[0], c, out); stays {
				kept = append(kept, list[0])
			}
		}
		return append(list, kept...)
	}
	for stuck := 0; stuck < len(p.ready.Parties()) && looked < lookedAt && p.room(c); {
		if !p.ready.Turn(take) {
			continue
		}
		if stuck++; began {
			stuck = 0
		}
	}
	return looked < lookedAt || !p.room(c)
}

// turn begins a fetch of a repository, if the plan can ask a source now. stays says that the repository waits for another turn.
func (p *Plan) turn(now backoff.Now, r *repo, c *census, out *Effects) (began, stays bool) {
	if p.repos[r.of] != r {
		return false, false
	}
	if c.full(r) || !mayBegin(now, c.repos[r.of]) {
		return false, true
	}
	s, found, more := p.source(now, r, c)
	switch {
	case found:
		t, f := r.turns[s], Fetch{Of: r.of, Source: s, Needs: r.wanted(now, s)}
		p.begin(now, f, t.attempt == 0, c, out)
		r.asked(now, s, f.Needs, p.terms(string(s)).Jitter(uint64(t.attempt)))
		return true, true
	case more:
		return false, true
	}
	r.ready = false
	p.later.put(r)
	return false, false
}

// mayBegin reports whether the plan asks one more source of a repository: it does where all fetches under way are quiet, or take very long.
func mayBegin(now backoff.Now, under []*running) bool {
	return len(under) < sourcesAtOnce && !slices.ContainsFunc(under, func(f *running) bool { return !f.quiet && now.Since(f.began) < longFor })
}

// source returns the source to ask next for a repository. more says that another source has its turn, but cannot be asked yet.
func (p *Plan) source(now backoff.Now, r *repo, c *census) (best grasp.Source, found, more bool) {
	for _, s := range p.order(r) {
		t := r.turns[s]
		h := p.known(t.server)
		if h.until > now.Mono {
			t.next = max(t.next, h.until)
		}
		if p.blocks(now, max(t.next, r.due(s))) {
			continue
		}
		more = true
		switch {
		case slices.ContainsFunc(c.repos[r.of], func(f *running) bool { return f.Source == s }),
			c.names[t.host] >= PerHost, !h.proven && c.unproven >= p.half():
		case p.blocks(now, max(h.next, now.Mono+p.allowances[t.host].wait(now, t.attempt == 0))):
		default:
			return s, true, true
		}
	}
	return "", false, more
}

// order returns the sources of a repository in the order in which the plan asks them. Those not asked since repo.since come first, then those
// asked for a part, then the one asked longest ago: the plan asks no source again before the others of a round.
func (p *Plan) order(r *repo) []grasp.Source {
	all := p.preferred(r)
	slices.SortStableFunc(all, func(a, b grasp.Source) int {
		x, y := r.turns[a], r.turns[b]
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), cmp.Compare(x.began, y.began))
	})
	return all
}

// preferred returns the sources of a repository in the order of a round: first the one that last had something new of its owner.
func (p *Plan) preferred(r *repo) []grasp.Source {
	all := r.all()
	if i := slices.Index(all, p.gave[r.of.PubKey]); i > 0 {
		s := all[i]
		copy(all[1:i+1], all[:i])
		all[0] = s
		return all
	}
	if last := p.gave[r.of.PubKey]; last != "" { // last may be a source of the owner's other repository: then the one on the same server comes first
		server := last.Server()
		slices.SortStableFunc(all, func(a, b grasp.Source) int {
			switch x, y := r.turns[a].server == server, r.turns[b].server == server; {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		})
	}
	return all
}

// blocks reports whether a host that a repository waits for is not free before until, and has the plan wake then.
func (p *Plan) blocks(now backoff.Now, until time.Duration) bool {
	if until <= now.Mono {
		return false
	}
	p.blocked = min(p.blocked, until)
	return true
}

// begin begins a fetch.
func (p *Plan) begin(now backoff.Now, f Fetch, first bool, c *census, out *Effects) {
	p.serial++
	f.ID = p.serial
	h := p.host(now, f.Source)
	x := &running{Fetch: f, host: f.Source.Server(), name: h.name, first: first, began: now}
	p.fetches[f.ID] = x
	h.started(now)
	p.allowance(now, h.name).began(now, first)
	c.add(x, h.proven, now)
	out.Start = append(out.Start, f)
}

// surveying begins surveys, which have no hurry. They take one place at most.
func (p *Plan) surveying(now backoff.Now, c *census, out *Effects) {
	for _, f := range p.fetches {
		if len(f.Needs) == 0 {
			return
		}
	}
	for i := 0; i < len(p.surveys) && p.room(c); i++ {
		f := p.surveys[i]
		h, name := p.known(f.Source.Server()), f.Source.Host()
		rests := h.until > now.Mono
		if !rests && (c.names[name] >= PerHost || p.blocks(now, max(h.next, now.Mono+p.allowances[name].wait(now, false)))) {
			continue
		}
		p.surveys = slices.Delete(p.surveys, i, i+1)
		if rests { // the next sweep asks for this survey again
			i--
			continue
		}
		p.begin(now, f, false, c, out)
		return
	}
}

// wake returns how long it takes until the passing of time alone lets a fetch begin.
func (p *Plan) wake(now backoff.Now) time.Duration {
	first := p.blocked
	at := func(t time.Duration) { first = min(first, t) }
	if len(p.later) > 0 {
		at(p.later[0].at)
	}
	if len(p.back) > 0 {
		at(p.lookBack)
	}
	if len(p.ready.Parties()) > 0 || len(p.surveys) > 0 {
		for _, f := range p.fetches { // a fetch that becomes long leaves its place
			for _, d := range []time.Duration{youngFor, longFor} {
				if t := f.began.Mono + d; t > now.Mono {
					at(t)
				}
			}
		}
	}
	if first == backoff.Never {
		return 0
	}
	return max(first-now.Mono, time.Millisecond)
}

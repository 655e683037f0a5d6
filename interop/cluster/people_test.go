package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
	"github.com/graspd/graspd/interop/wire"
)

// people publish, read, follow, push and clone at nodes, and hold these to what they said.
type people struct {
	*nodes
	writing, reading, following, lag, pushing, cloning *tally

	mu    sync.Mutex               // guards all below
	acked map[nostr.PubKey][]acked // by author, in order
	at    map[*machine][]nostr.ID  // by the machine that said OK
	all   []*nostr.Event           // that heard OK
	read  map[string]int           // the number of the last commit that a machine took, by that and the repository
}

// acked is an event that heard OK.
type acked struct {
	id nostr.ID
	at time.Time
}

// reset begins to count.
func (p *people) reset() {
	for _, c := range []**tally{&p.writing, &p.reading, &p.following, &p.lag, &p.pushing, &p.cloning} {
		*c = newTally()
	}
}

// ok notes that a machine said OK to an event, unless that is one which another replaces.
func (p *people) ok(m *machine, e *nostr.Event) {
	if e.Kind == nip34.KindState {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acked[e.PubKey] = append(p.acked[e.PubKey], acked{e.ID, time.Now()})
	p.at[m] = append(p.at[m], e.ID)
	p.all = append(p.all, e)
}

// noWriter is what people hear while nobody leads.
const noWriter = "error: no node takes writes at the moment; try again"

// changing is what people hear, besides, where a node ceases to lead, begins to, or ends.
var changing = []string{
	"error: another node takes events at the moment; try again",
	"error: this node ends, and does not know whether it was taken; try again",
	"error: the relay is shutting down; publish again later",
	"error: another node has stored it, and this one has not heard of that yet; try again",
}

// patient is how long people wait for an answer.
const patient = 30 * time.Second

// offer publishes an event on a connection to a machine, once.
func (p *people) offer(ctx context.Context, m *machine, c *wire.Client, e *nostr.Event) bool {
	within, end := context.WithTimeout(ctx, patient)
	defer end()
	begun := time.Now()
	a, heard := publish(within, c, e)
	switch {
	case heard && a.OK:
		p.ok(m, e)
		p.writing.good("OK", time.Since(begun))
		return true
	case heard && a.Reason == noWriter:
		p.writing.add("told to try again")
	case heard && slices.Contains(changing, a.Reason):
		p.writing.add("told to try again")
		if !p.troubled(begun, m) {
			p.t.Errorf("%s says to an event, where all was well: %s", p.letter(m), a.Reason)
		}
	case heard:
		p.t.Errorf("%s says to an event: %s", p.letter(m), a.Reason)
	case ctx.Err() != nil:
	case within.Err() != nil:
		p.writing.add("no answer")
	default:
		p.writing.add("cut off")
	}
	return false
}

// publishes publishes an event at one machine after the other until one says OK, and returns that; nil once ctx ends.
func (p *people) publishes(ctx context.Context, r *rand.Rand, e *nostr.Event) *machine {
	for ctx.Err() == nil {
		if m := p.pick(r, writesAnywhere); m != nil {
			if c, err := wire.Dial(ctx, "ws://"+m.listen); err == nil {
				ok := p.offer(ctx, m, c, e)
				c.CloseNow()
				if ok {
					return m
				}
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// writes publishes at random nodes until ctx ends: some events on each connection, on which each of them is there as soon as it heard OK.
func (p *people) writes(ctx context.Context, n int) {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	project := testkit.RepositoryAddress(owner, "proj")
	for i := 0; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		m := p.pick(r, writesAnywhere)
		if m == nil {
			continue
		}
		c, err := wire.Dial(ctx, "ws://"+m.listen)
		if err != nil {
			p.writing.add("found nobody")
			continue
		}
		for range 1 + r.IntN(20) {
			i++
			e := testkit.Issue(testkit.Key(n), time.Now().Unix(), project, fmt.Sprint(n, " writes ", i))
			if !p.offer(ctx, m, c, e) || !p.has(ctx, m, c, e.ID) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		c.CloseNow()
	}
}

// answers is what a relay answers to a request.
type answers struct {
	events []*nostr.Event
	count  int64
	closed string // why it was refused
}

// ask makes a request, whose subscription is s.
func ask(ctx context.Context, c *wire.Client, frame string) (a answers, err error) {
	ctx, end := context.WithTimeout(ctx, patient)
	defer end()
	if err := c.Send(ctx, []byte(frame)); err != nil {
		return a, err
	}
	for {
		x, err := c.Receive(ctx)
		if err != nil {
			return a, err
		}
		switch x := x.(type) {
		case nostr.RelayEvent:
			a.events = append(a.events, x.Event)
		case nostr.CountResult:
			a.count = x.Count
			return a, nil
		case nostr.Closed:
			a.closed = x.Reason
			return a, nil
		case nostr.EOSE:
			return a, c.Send(ctx, []byte(`["CLOSE","s"]`))
		}
	}
}

// asks makes a request at a machine, and counts what becomes of it. It returns false where there is no answer.
func (p *people) asks(ctx context.Context, m *machine, c *wire.Client, frame string) (answers, bool) {
	begun := time.Now()
	a, err := ask(ctx, c, frame)
	switch {
	case err != nil && ctx.Err() == nil:
		p.reading.add("cut off")
	case err == nil && a.closed != "":
		p.reading.add("refused")
		if !p.troubled(begun, m) {
			p.t.Errorf("%s refuses a request: %s", p.letter(m), a.closed)
		}
	case err == nil:
		p.reading.good("answered", time.Since(begun))
		return a, true
	}
	return a, false
}

// has requires that a machine has events, and returns false where it does not answer.
func (p *people) has(ctx context.Context, m *machine, c *wire.Client, ids ...nostr.ID) bool {
	var texts []string
	for _, id := range ids {
		texts = append(texts, `"`+id.String()+`"`)
	}
	a, ok := p.asks(ctx, m, c, `["REQ","s",{"ids":[`+strings.Join(texts, ",")+`]}]`)
	if !ok {
		return false
	}
	for _, id := range ids {
		if !slices.ContainsFunc(a.events, func(e *nostr.Event) bool { return e.ID == id }) {
			p.t.Errorf("%s has said OK to %s, and does not have it", p.letter(m), id)
		}
	}
	return true
}

// some are events to which a machine has said OK, at any time.
func (p *people) some(r *rand.Rand, m *machine) (ids []nostr.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for all := p.at[m]; len(all) > 0 && len(ids) < 20; {
		ids = append(ids, all[r.IntN(len(all))])
	}
	return ids
}

// reads asks at random nodes until ctx ends. On one connection nothing goes backwards: not the number of events, not the state of a repository; and
// a node has whatever it has said OK to, also before it was killed.
func (p *people) reads(ctx context.Context, n int, of ...*repository) {
	r := rand.New(rand.NewPCG(uint64(n), 2))
	for ctx.Err() == nil {
		m := p.pick(r, true)
		c, err := wire.Dial(ctx, "ws://"+m.listen)
		if err != nil {
			p.reading.add("found nobody")
			time.Sleep(50 * time.Millisecond)
			continue
		}
		var count int64
		states := make([]int64, len(of))
		for until := time.Now().Add(time.Duration(1+r.IntN(20)) * time.Second); time.Now().Before(until); time.Sleep(30 * time.Millisecond) {
			if ids := p.some(r, m); len(ids) > 0 && !p.has(ctx, m, c, ids...) {
				break
			}
			a, ok := p.asks(ctx, m, c, fmt.Sprintf(`["COUNT","s",{"kinds":[%d]}]`, nip34.KindIssue))
			if !ok {
				break
			}
			if a.count < count {
				p.t.Errorf("%s counts %d events, and has counted %d on the same connection", p.letter(m), a.count, count)
			}
			count = a.count
			i := r.IntN(len(of))
			a, ok = p.asks(ctx, m, c, fmt.Sprintf(`["REQ","s",{"kinds":[%d],"authors":["%s"],"#d":["%s"]}]`, nip34.KindState, owner.PubKey(), of[i].d))
			if !ok {
				break
			}
			for _, e := range a.events {
				states[i] = p.forward(m, states[i], e)
			}
			if len(a.events) == 0 && states[i] > 0 {
				p.t.Errorf("%s has shown a state, and does not any more", p.letter(m))
			}
		}
		c.CloseNow()
	}
}

// forward requires that a state is no older than the last one.
func (p *people) forward(m *machine, last int64, e *nostr.Event) int64 {
	if e.CreatedAt < last {
		p.t.Errorf("%s shows a state of %d, and has shown one of %d on the same connection", p.letter(m), e.CreatedAt, last)
	}
	return max(last, e.CreatedAt)
}

// shown is an event that a live subscription brought.
type shown struct {
	id nostr.ID
	at time.Time
}

// follows keeps a live subscription at one random node after the other until ctx ends.
func (p *people) follows(ctx context.Context, n int) {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	for ctx.Err() == nil {
		m := p.pick(r, true)
		within, end := context.WithTimeout(ctx, time.Duration(5+r.IntN(30))*time.Second)
		c, err := wire.Dial(within, "ws://"+m.listen)
		if err == nil {
			p.follow(within, m, c)
			c.CloseNow()
		} else if within.Err() == nil {
			p.following.add("found nobody")
			time.Sleep(50 * time.Millisecond)
		}
		end()
	}
}

// follow follows on one connection until that or ctx ends. Of each author it brings, of what heard OK, all from some event on, once and in order.
func (p *people) follow(ctx context.Context, m *machine, c *wire.Client) {
	p.following.add("subscribed")
	if c.Send(ctx, []byte(fmt.Sprintf(`["REQ","s",{"kinds":[%d],"limit":0}]`, nip34.KindIssue))) != nil {
		p.following.add("cut off")
		return
	}
	got := map[nostr.PubKey][]shown{}
	begun := time.Now()
	for {
		x, err := c.Receive(ctx)
		if err != nil && ctx.Err() == nil {
			p.following.add("cut off")
		}
		if closed, is := x.(nostr.Closed); is {
			p.following.add("refused")
			if !p.troubled(begun, m) {
				p.t.Errorf("%s ends a subscription: %s", p.letter(m), closed.Reason)
			}
		} else if err == nil {
			if x, is := x.(nostr.RelayEvent); is {
				got[x.Event.PubKey] = append(got[x.Event.PubKey], shown{x.Event.ID, time.Now()})
				p.following.good("events", time.Since(begun))
				begun = time.Now()
			}
			continue
		}
		for author, of := range got {
			p.compare(m, author, of)
		}
		return
	}
}

// compare compares what a connection brought of an author with what heard OK.
func (p *people) compare(m *machine, author nostr.PubKey, got []shown) {
	p.mu.Lock()
	defer p.mu.Unlock()
	index := map[nostr.ID]int{}
	for i, a := range p.acked[author] {
		index[a.id] = i
	}
	before, seen := -1, map[nostr.ID]bool{}
	for _, x := range got {
		if seen[x.id] {
			p.t.Errorf("%s brings %s twice", p.letter(m), x.id)
		}
		seen[x.id] = true
		i, ok := index[x.id]
		if !ok {
			continue // nobody heard what became of it
		}
		if before >= 0 && i != before+1 {
			p.t.Errorf("%s brings event %d of an author after %d", p.letter(m), i, before)
		}
		before = i
		p.lag.good("events", max(0, x.at.Sub(p.acked[author][i].at)))
	}
}

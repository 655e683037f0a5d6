package cluster_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// client publishes, pushes, reads and follows at one node, and at another one when that is gone or the client feels like it.
type client struct {
	*dice
	w      *world
	number int
	kind   kind
	life   *life

	// Of the connection.
	at   uint64
	head store.Seq
	seen []nostr.ID // what it was shown

	mine   []nostr.ID // acknowledged notes
	pushes int        // the commit of the last state
	made   bool       // the repository is announced, and has a commit
	clock  int64      // of the last event
}

func newClient(w *world, n int, k kind) *client {
	return &client{dice: newDice(w.seed, fmt.Sprint("client ", n)), w: w, number: n, kind: k}
}

// run goes on until stop is closed.
func (c *client) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(c.some(800 * time.Millisecond)):
			c.turn()
		}
	}
}

// turn does one thing.
func (c *client) turn() {
	if c.life == nil || c.roll(12) == 0 {
		c.life, c.at, c.head, c.seen = c.w.nodes[c.roll(len(c.w.nodes))].current(), 0, 0, nil
	}
	l := c.life
	if l == nil || !l.enter() {
		c.life = nil
		return
	}
	defer l.all.Done()
	if !l.pass(1000, "before it hears a client", nil) {
		return
	}
	if c.kind == doors && !c.made {
		c.begin(l)
		return
	}
	switch c.roll(10) {
	case 0:
		c.delete(l)
	case 1, 2:
		c.read(l)
	case 3, 4:
		c.follow(l)
	case 5, 6:
		if c.kind == doors {
			c.push(l)
			return
		}
		c.publish(l, c.event(30018, nostr.Tag{"d", fmt.Sprint(c.roll(3))}))
	default:
		if r := c.publish(l, c.note()); r.ok {
			c.mine = append(c.mine, r.id)
		}
	}
}

func (c *client) author() nostr.PubKey { return testkit.Someone(c.number) }

func (c *client) repository() nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: c.author(), D: fmt.Sprint("r", c.number)}
}

// event makes an event that no other one is like, later than the client's last.
func (c *client) event(k nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	c.clock = max(c.clock+1, time.Now().Unix())
	return testkit.Mark(c.author(), c.clock, k, fmt.Sprint(c.number, " at ", c.clock), tags...)
}

func (c *client) note() *nostr.Event {
	if c.kind == doors {
		return c.event(nip34.KindIssue, nostr.Tag{"a", c.repository().String()}, nostr.Tag{"subject", "x"})
	}
	return c.event(1)
}

// published is what became of an event.
type published struct {
	result
	id nostr.ID
}

// publish hands an event in. Events that others replace are found by nobody for long.
func (c *client) publish(l *life, e *nostr.Event) published {
	head := l.s.Head()
	r := l.submit(func(w writer) result { return w.publish(e) })
	c.w.say("client %d: %s of kind %d at %s: %s", c.number, short(e.ID), e.Kind, l, r)
	replaced := e.Kind == 30018 || e.Kind == nip34.KindState || e.Kind == nip34.KindRepository
	switch {
	case !l.pass(300, "before it answers a client", nil):
		return published{id: e.ID}
	case r.ok && !replaced:
		c.w.audit.ok(l, e, head, r.position)
		c.seen = append(c.seen, e.ID)
	case r.refused && !replaced:
		c.w.audit.turnedAway(e.ID)
	}
	return published{r, e.ID}
}

func (r result) String() string {
	switch {
	case r.ok:
		return fmt.Sprint("OK, in the log at ", r.position)
	case r.refused:
		return "not stored " + r.verdict.Reason
	}
	return "nobody knows " + r.verdict.Reason
}

func (c *client) delete(l *life) {
	if len(c.mine) == 0 {
		return
	}
	n := 1 + c.roll(min(4, len(c.mine)))
	ids := slices.Clone(c.mine[:n])
	c.mine = slices.Delete(c.mine, 0, n)
	var tags []nostr.Tag
	for _, id := range ids {
		c.w.audit.release(id)
		tags = append(tags, nostr.Tag{"e", id.String()})
	}
	if r := c.publish(l, c.event(nostr.KindDeletion, tags...)); r.ok {
		c.w.audit.deleted(l, ids[0], ids[1:], r.position)
	}
}

// read requires that the connection shows what it has shown, and the node what was acknowledged.
func (c *client) read(l *life) {
	at, head := l.at(), l.s.Head()
	if at < c.at || head < c.head {
		c.w.audit.problem("%s shows position %d and entry %d, and has shown %d and %d", l, at, head, c.at, c.head)
	}
	c.at, c.head = at, head
	for _, id := range c.seen[max(0, len(c.seen)-5):] {
		if !l.has(id) && !c.w.audit.isUnwanted(id) {
			c.w.audit.problem("%s has shown %s, and does not any more", l, short(id))
		}
	}
	c.w.audit.look(l, false)
}

// follow reads the newest part of the feed.
func (c *client) follow(l *life) {
	after := l.s.Head()
	after -= min(after, store.Seq(c.roll(30)))
	entries, _, err := l.s.Since(after, 50)
	if err != nil {
		c.w.audit.problem("%s: feed: %v", l, err)
	}
	for _, x := range entries {
		if x.Seq <= after {
			c.w.audit.problem("%s: the feed goes from %d to %d", l, after, x.Seq)
		}
		after = x.Seq
		if x.Event != nil && (x.Event.Kind == 1 || x.Event.Kind == nip34.KindIssue) && l.has(x.Event.ID) {
			c.seen = append(c.seen, x.Event.ID)
		}
	}
	c.w.audit.told(l, entries)
}

// begin announces the client's repository, and brings its first commit.
func (c *client) begin(l *life) {
	of := c.repository()
	e := c.event(nip34.KindRepository, nostr.Tag{"d", of.D}, nostr.Tag{"clone", service.CloneURL(of.PubKey, of.D)}, nostr.Tag{"relays", "wss://relay.example.org"})
	if c.publish(l, e).ok {
		c.push(l)
	}
}

// push states what the branch is to be, and brings that.
func (c *client) push(l *life) {
	of := c.repository()
	c.pushes++
	to := c.pushes
	e := c.event(nip34.KindState, nostr.Tag{"d", of.D}, nostr.Tag{"refs/heads/main", commitID(to).String()}, nostr.Tag{"HEAD", "ref: refs/heads/main"})
	if !c.publish(l, e).ok {
		return
	}
	r := l.submit(func(w writer) result { return w.push(of, c.shown(l), to) })
	c.w.say("client %d: push of commit %d at %s: %s", c.number, to, l, r)
	if r.ok && l.pass(300, "before it answers a push", nil) {
		c.made = true
		c.w.audit.moved(l, of, to, r.position)
	}
}

// shown is the commit that a node shows.
func (c *client) shown(l *life) (n int) {
	v := l.s.View()
	defer v.Close()
	r, err := refdb.Read(v, c.repository())
	if err != nil {
		c.w.audit.problem("%s: %v", l, err)
	}
	for _, x := range r.Refs.All() {
		n = max(n, numberOf(x.ID))
	}
	return n
}

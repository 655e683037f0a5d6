package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// Two private services that are each other's members complete each other for some days in which they stop, crash and lose connections.
// A public service that archives whatever it hears of, a relay that wants to know who asks, and one that says that it is a member's learn
// nothing of the repository that names the two alone.
func TestPrivateServicesForSomeDays(t *testing.T) {
	for seed := *first; seed < *first+uint64(max(1, *runs/40)); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { privateDays(t, seed) }) })
	}
}

// circle is two private services and what is around them.
type circle struct {
	*testing.T
	w                  *sim.World
	r                  *rand.Rand
	a, b, public       *sim.Graspd
	beside, pretender  *testkit.FakeRelay
	hidden, open       *hosted
	secret, known      []*nostr.Event // about the one and the other
	everybody, without policy.PubKeys // with both services, and without the second
}

// guest is a person who is a member.
const guest = 70

func privateDays(t *testing.T, seed uint64) {
	w := sim.New(t, seed)
	defer w.End()
	c := &circle{T: t, w: w, r: rand.New(rand.NewPCG(seed, 8)), beside: w.Fake("beside.example.net"), pretender: w.Fake("pretender.example.net")}
	person := testkit.Key(guest).PubKey()
	private := sim.Options{Git: true, Ping: 10 * time.Minute, Members: policy.PubKeys{person: {}}}
	c.a, c.b = w.Graspd("a.example.org", private), w.Graspd("b.example.org", private)
	c.everybody = policy.PubKeys{person: {}, c.a.Key(): {}, c.b.Key(): {}}
	c.without = policy.PubKeys{person: {}, c.a.Key(): {}}
	c.a.Members, c.b.Members = c.everybody, c.everybody
	c.public = w.Graspd("public.example.org", sim.Options{Ping: 10 * time.Minute, Archive: []string{"all"}, Bootstrap: []grasp.RelayURL{c.a.URL, c.b.URL}})
	c.a.Bootstrap = []grasp.RelayURL{c.b.URL, c.public.URL, c.beside.URL} // typed, as nothing is encrypted here
	c.b.Bootstrap = []grasp.RelayURL{c.a.URL, c.beside.URL, c.public.URL}
	c.beside.Auth, c.pretender.Auth = testkit.AuthFirst, testkit.AuthFirst
	c.pretender.Info = &nip11.Document{Self: c.b.Key().String(), SupportedGRASPs: []string{"GRASP-01", "GRASP-08"}}
	for _, g := range []*sim.Graspd{c.a, c.b, c.public} {
		g.Start()
	}
	c.begin()
	for day := range 4 {
		for range 4 {
			c.change(day)
			wait(time.Duration(1+c.r.IntN(5)) * time.Hour)
			c.disturb()
		}
	}
	c.converges("after some days")
	c.member()
	c.expulsion()
	c.told()
}

// begin announces a repository that the two have alone, one that names the public service too, and one that names the others.
func (c *circle) begin() {
	announce := func(owner int, d string, private string, relays ...grasp.RelayURL) (*hosted, *nostr.Event) {
		h := host(c.T, c.w, owner, d, c.a, c.b)
		e := h.announcement()
		for i, tag := range e.Tags {
			for _, u := range relays {
				if tag[0] == "relays" {
					e.Tags[i] = append(e.Tags[i], string(u))
				}
			}
		}
		e = testkit.Mark(e.PubKey, e.CreatedAt, e.Kind, "", append(e.Tags, nostr.Tag{"private", private})...)
		c.publish(c.a, e)
		h.push(c.a)
		return h, e
	}
	h, e := announce(1, "hidden", "true")
	c.hidden, c.secret = h, append(c.secret, e)
	h0 := h
	h, e = announce(2, "open", "", c.public.URL)
	c.open, c.known = h, append(c.known, e)
	wide, _ := announce(3, "wide", "", c.beside.URL, c.pretender.URL)
	outside := testkit.Mark(testkit.Someone(8), c.w.Unix(), nip34.KindIssue, "for the others", nostr.Tag{"a", wide.of.String()})
	inside := testkit.Mark(testkit.Someone(20), c.w.Unix(), nip34.KindIssue, "they have the same", nostr.Tag{"a", h0.of.String()}, nostr.Tag{"q", outside.ID.String()})
	answer := testkit.Mark(testkit.Someone(21), c.w.Unix(), nostr.KindComment, "so they have", nostr.Tag{"E", inside.ID.String()}, nostr.Tag{"e", inside.ID.String()})
	for _, e := range []*nostr.Event{outside, inside, answer} {
		c.publish(c.a, e)
	}
	c.secret = append(c.secret, inside, answer)
	c.publish(c.public, e)
	c.hidden.within(5*time.Minute, "announced and pushed to the one", c.b)
	c.open.within(5*time.Minute, "announced and pushed to the one", c.b)
}

func (c *circle) publish(to *sim.Graspd, e *nostr.Event) {
	c.Helper()
	if v := to.Publish(e); !v.OK() {
		c.Fatalf("%s: %v", to.Name, v)
	}
}

// change has somebody push and write, at either.
func (c *circle) change(day int) {
	to := []*sim.Graspd{c.a, c.b}[c.r.IntN(2)]
	h, events := c.hidden, &c.secret
	if c.r.IntN(3) == 0 {
		h, events = c.open, &c.known
	}
	if c.r.IntN(2) == 0 {
		h.push(to)
	}
	issue := testkit.Mark(testkit.Someone(10+c.r.IntN(5)), c.w.Unix(), nip34.KindIssue, fmt.Sprint(day, len(*events)), nostr.Tag{"a", h.of.String()})
	c.publish(to, issue)
	*events = append(*events, issue)
}

// disturb stops one for a while, or cuts its connections.
func (c *circle) disturb() {
	g, other := c.a, c.b
	if c.r.IntN(2) == 0 {
		g, other = other, g
	}
	lost := false
	switch c.r.IntN(5) {
	case 0:
		g.Crash()
	case 1:
		g.Stop()
	case 2:
		g.Host().Cut()
	case 3:
		c.beside.Drop()
		c.pretender.Drop()
		c.public.Host().Cut()
	default:
		lost = c.hidden.has(other) && c.open.has(other) // or else nobody had it
		g.Stop()
		if lost {
			g.LoseGit()
		}
	}
	wait(time.Duration(c.r.IntN(90)) * time.Minute)
	if !g.Running() {
		g.Start()
		wait(time.Minute)
	}
	if lost {
		wait(2 * time.Hour)
	}
}

// converges sees that each of the two gets everything once whoever has failed to connect was to try again: an hour and a quarter at most.
func (c *circle) converges(when string) {
	c.Helper()
	wait(2 * time.Hour)
	for _, g := range []*sim.Graspd{c.a, c.b} {
		g.WantStored(c.secret...)
		g.WantStored(c.known...)
		c.hidden.within(time.Second, when, g)
		c.open.within(time.Second, when, g)
	}
}

// member sees that a person who is taken off the list is sent away, and a service hears nothing from then on.
func (c *circle) member() {
	conn, ok := c.enter(c.a, guest)
	if !ok {
		c.Fatal("a member is not let in")
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := conn.Read(context.Background()); err != nil {
				ended <- err
				return
			}
		}
	}()
	wait(time.Minute)
	select {
	case err := <-ended:
		c.Fatalf("a member is sent away: %v", err)
	default:
	}
	rest := policy.PubKeys{c.a.Key(): {}, c.b.Key(): {}}
	c.a.SetMembers(rest)
	wait(time.Minute)
	select {
	case <-ended:
	default:
		c.Error("who is no member any more stays connected")
		_ = conn.Close("")
		<-ended
	}
	conn, ok = c.enter(c.a, guest)
	if ok {
		c.Error("who is no member any more is let in")
	}
	_ = conn.Close("")
}

// expulsion takes one service off the other's list, and puts it back.
func (c *circle) expulsion() {
	if !c.b.Connected(c.T.Context(), c.a.URL) {
		c.Error("the services are not connected")
	}
	c.a.SetMembers(c.without)
	wait(time.Minute)
	before := len(c.secret)
	c.change(10)
	late := testkit.Mark(testkit.Someone(9), c.w.Unix(), nip34.KindIssue, "without the other", nostr.Tag{"a", c.hidden.of.String()})
	c.publish(c.a, late)
	wait(20 * time.Minute)
	c.b.WantAbsent(late)
	c.a.SetMembers(c.everybody)
	c.secret = append(c.secret, late)
	c.converges("a member again")
	if len(c.secret) <= before {
		c.Error("nothing was written meanwhile")
	}
}

// enter connects somebody, and reports whether they are let in.
func (c *circle) enter(g *sim.Graspd, who int) (*relayconn.Conn, bool) {
	c.Helper()
	d := relayconn.New(relayconn.Config{Net: publicnet.Config{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		host, _, _ := strings.Cut(to, ":")
		return c.w.Net.Dial(ctx, "person", host)
	}}})
	conn, err := d.Dial(c.T.Context(), g.URL)
	if err != nil {
		c.Fatal(err)
	}
	for {
		b, err := conn.Read(c.T.Context())
		if err != nil {
			c.Fatal(err)
		}
		m, err := nostr.ParseRelay(b)
		if err != nil {
			c.Fatal(err)
		}
		switch m := m.(type) {
		case nostr.AuthChallenge:
			e := testkit.Sign(testkit.Key(who), c.w.Unix(), nostr.KindAuth, "", nostr.Tag{"relay", string(g.URL)}, nostr.Tag{"challenge", m.Challenge})
			if err := conn.Write(c.T.Context(), nostr.AppendAuth(nil, e)); err != nil {
				c.Fatal(err)
			}
		case nostr.OK:
			return conn, m.OK
		}
	}
}

// told looks at what the others have learnt.
func (c *circle) told() {
	c.public.WantStored(c.known[0])
	c.public.WantAbsent(c.secret...)
	for _, f := range []*testkit.FakeRelay{c.beside, c.pretender} {
		if f.Dials() == 0 || len(f.Frames()) == 0 {
			c.Errorf("%s was asked nothing", f.URL)
		}
		if n := len(f.Authors()); n > 0 {
			c.Errorf("%d sign for %s, which is no member's", n, f.URL)
		}
		for _, frame := range f.Frames() {
			for _, verb := range []string{"AUTH", "EVENT", "NEG-OPEN", "NEG-MSG"} {
				if strings.HasPrefix(frame, `["`+verb+`"`) {
					c.Errorf("%s is sent %.200s", f.URL, frame)
				}
			}
			c.silentAbout(f.URL, frame)
		}
	}
}

// silentAbout sees that a frame tells nothing of the private repository.
func (c *circle) silentAbout(to grasp.RelayURL, frame string) {
	words := []string{`"hidden"`, c.hidden.of.String(), c.hidden.owner.String()}
	for _, e := range c.secret {
		words = append(words, e.ID.String())
		if n := e.PubKey; n == testkit.Someone(20) || n == testkit.Someone(21) {
			words = append(words, n.String())
		}
	}
	for _, word := range words {
		if strings.Contains(frame, word) {
			c.Errorf("%s is asked about what does not name it: %.300s", to, frame)
		}
	}
}

package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// Random days of contributors, at the server of a repository and at one that knows nothing of it: events before pushes and after them,
// commits that are others, come late or never, pull requests that are taken back, servers that stop and crash. Nothing is ever served that
// no event names, nothing of the repository comes to a contributor's place, and in the end all is everywhere where it should be.
func TestRandomDaysOfContributors(t *testing.T) {
	for seed := *first; seed < *first+uint64(max(1, *runs/4)); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { contributedDay(t, seed) }) })
	}
}

// contribution is a pull request whose commit its signer pushes to their place at one server.
type contribution struct {
	*nostr.Event
	at      *sim.Graspd
	of      nip34.Address // that place
	tip     gitwire.ObjectID
	honest  bool // the commit comes, if not at once
	both    bool // the event names their places at both servers, and they push to one
	deleted bool
}

type contributors struct {
	*testing.T
	w     *sim.World
	r     *rand.Rand
	repo  *hosted
	home  *sim.Graspd // has the repository
	place *sim.Graspd
	all   []*contribution
}

func contributedDay(t *testing.T, seed uint64) {
	w := sim.New(t, seed+1)
	defer w.End()
	c := &contributors{T: t, w: w, r: rand.New(rand.NewPCG(seed, 6))}
	c.home = w.Graspd("home.example.org", sim.Options{Git: true, Contributors: true})
	c.place = w.Graspd("place.example.org", sim.Options{Git: true, Contributors: true})
	c.home.Start()
	c.place.Start()
	c.repo = host(t, w, 1, "tool", c.home)
	if v := c.home.Publish(c.repo.announcement()); !v.OK() {
		t.Fatal(v)
	}
	c.repo.push(c.home)
	for range 60 {
		c.step()
		wait(time.Duration(c.r.IntN(12*60)) * time.Second)
		c.look()
	}
	for _, g := range []*sim.Graspd{c.home, c.place} {
		if !g.Running() {
			g.Start()
		}
	}
	wait(time.Minute)
	for _, x := range c.all {
		if x.deleted || !x.honest {
			continue
		}
		c.publish(x)
		if !x.at.Serves(x.of, x.ref()) {
			if wrong := c.push(x, x.tip); wrong != "" {
				t.Errorf("pushed at last: %s", wrong)
			}
		}
	}
	wait(2 * time.Hour) // what nobody has pushed has lapsed, and what is lacked was looked for
	c.end()
}

func (x *contribution) ref() gitwire.Ref { return gitwire.Ref{Name: refs.TipName(x.ID), ID: x.tip} }

func (c *contributors) step() {
	servers := []*sim.Graspd{c.home, c.place}
	g := servers[c.r.IntN(2)]
	switch n := c.r.IntN(12); {
	case !g.Running():
		g.Start()
	case n == 0:
		g.Stop()
	case n == 1:
		g.Crash()
	case n == 2 && len(c.all) > 0:
		c.takeBack(c.all[c.r.IntN(len(c.all))])
	case n == 3 && c.home.Running():
		c.repo.push(c.home)
	case n < 6 && len(c.all) > 0: // somebody tries again
		x := c.all[c.r.IntN(len(c.all))]
		if x.at.Running() && x.honest && !x.deleted {
			c.publish(x)
			c.push(x, x.tip)
		}
	default:
		c.contribute(g)
	}
}

func (c *contributors) contribute(g *sim.Graspd) {
	n := len(c.all)
	by := testkit.Someone(10 + c.r.IntN(4))
	x := &contribution{at: g, of: grasp.Contributed(by, c.repo.of.D), honest: c.r.IntN(4) > 0, both: c.r.IntN(3) == 0}
	x.tip = c.w.History.Commit(fmt.Sprint("contribution", n), c.repo.tip)
	x.Event = testkit.Mark(by, c.w.Unix(), nip34.KindPullRequest, "", nostr.Tag{"subject", fmt.Sprint(n)}, nostr.Tag{"a", c.repo.of.String()},
		nostr.Tag{"c", x.tip.String()}, append(nostr.Tag{"clone"}, c.clones(x)...))
	c.all = append(c.all, x)
	other := c.w.History.Commit(fmt.Sprint("another", n), c.repo.tip)
	brings := x.tip
	if !x.honest {
		brings = other
	}
	late := time.Duration(c.r.IntN(3)) * 20 * time.Minute
	if c.r.IntN(2) == 0 { // the event first
		c.publish(x)
		wait(late)
		if wrong := c.push(x, brings); x.honest && wrong != "" {
			c.Errorf("%s: %s", x.at.Name, wrong)
		} else if !x.honest && wrong == "" && late < 20*time.Minute {
			c.Errorf("%s: another commit was taken", x.at.Name)
		}
		return
	}
	if wrong := c.push(x, brings); wrong != "" {
		c.Errorf("before its event: %s", wrong)
	}
	if g.Serves(x.of, gitwire.Ref{Name: refs.TipName(x.ID), ID: brings}) {
		c.Error("it is served though nobody signed for it")
	}
	wait(late)
	c.publish(x)
	if late < 20*time.Minute && x.honest {
		wait(time.Second)
		if !g.Serves(x.of, x.ref()) {
			c.Errorf("%s: it is not served once its event is there", g.Name)
		}
	}
}

// clones are the URLs of the places that the event of a contribution names.
func (c *contributors) clones(x *contribution) (urls []string) {
	for _, g := range []*sim.Graspd{c.home, c.place} {
		if x.both || x.at == g {
			urls = append(urls, g.CloneURL(x.of))
		}
	}
	return urls
}

// publish sends the event to those that it names, as far as they run, and to the one with the repository, which wants it for that alone.
func (c *contributors) publish(x *contribution) {
	for _, g := range []*sim.Graspd{c.home, c.place} {
		if !g.Running() || g == c.place && x.at != g && !x.both {
			continue
		}
		if v := g.Publish(x.Event); !v.OK() {
			c.Errorf("%s: %v", g.Name, v)
		}
	}
}

func (c *contributors) push(x *contribution, tip gitwire.ObjectID) string {
	return x.at.Push(x.of, gitwire.Command{Ref: refs.TipName(x.ID), New: tip})
}

func (c *contributors) takeBack(x *contribution) {
	if x.deleted || !c.home.Running() || !c.place.Running() {
		return
	}
	x.deleted = true
	e := testkit.Mark(x.PubKey, c.w.Unix(), nostr.KindDeletion, "", nostr.Tag{"e", x.ID.String()})
	for _, g := range []*sim.Graspd{c.home, c.place} {
		g.Publish(e) // one of them may have nothing by this author
	}
}

// look says what is served that must not be.
func (c *contributors) look() {
	for _, g := range []*sim.Graspd{c.home, c.place} {
		if !g.Running() {
			continue
		}
		for by := range 4 {
			of := grasp.Contributed(testkit.Someone(10+by), c.repo.of.D)
			for _, r := range g.Refs(of).List {
				if !slices.ContainsFunc(c.all, func(x *contribution) bool { return (x.at == g || x.both) && x.of == of && x.ref() == r }) {
					c.Errorf("%s serves %v at %s", g.Name, r, of)
				}
			}
		}
	}
	if !c.home.Running() {
		return
	}
	for _, r := range c.home.Refs(c.repo.of).List {
		if strings.HasPrefix(r.Name, "refs/nostr/") && !slices.ContainsFunc(c.all, func(x *contribution) bool { return x.ref() == r }) {
			c.Errorf("the repository serves %v", r)
		}
	}
}

func (c *contributors) end() {
	c.look()
	served, through := 0, 0
	for _, x := range c.all {
		want := x.honest && !x.deleted
		if got := x.at.Serves(x.of, x.ref()); got != want {
			c.Errorf("%s serves %s: %v, want %v", x.at.Name, x.ref().Name, got, want)
		}
		if got := c.home.Serves(c.repo.of, x.ref()); got != want {
			c.Errorf("the repository serves what came to %s: %v, want %v", x.at.Name, got, want)
		}
		if want {
			served++
			if x.at == c.place {
				through++
			}
		}
		// The place at the other server gets it from there, unless the repository is there, which does.
		other := map[*sim.Graspd]*sim.Graspd{c.home: c.place, c.place: c.home}[x.at]
		if got := other.Serves(x.of, x.ref()); got != (want && x.both && other == c.place) {
			c.Errorf("%s has what was contributed at %s: %v, at both: %v", other.Name, x.at.Name, got, x.both)
		}
	}
	if !c.repo.main(c.home) {
		c.Errorf("the branch is not what its owner signed: %v", c.home.Refs(c.repo.of).List)
	}
	if served < 3 || through == 0 {
		c.Errorf("%d of %d are served, %d of them through the other server", served, len(c.all), through)
	}
}

// main reports whether the branch is at what was pushed last.
func (h *hosted) main(g *sim.Graspd) bool { return g.Serves(h.of, gitwire.Ref{Name: main, ID: h.tip}) }

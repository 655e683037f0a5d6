package sim_test

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// cast are the people of a world and what they have written.
type cast struct {
	r       *rand.Rand
	now     func() int64
	relays  []grasp.RelayURL
	all     ids
	made    []*nostr.Event // in order
	seconds map[int64]int  // how many events each has
	n       int
	work    int // bits of proof of work that most events show
}

// identifiers are what repositories are called.
var identifiers = []string{"proj", "proj", "lib", "tool:with:colons", "ünïcode/and space", ""}

func (c *cast) person() nostr.PubKey { return testkit.Someone(c.r.IntN(8)) }
func (c *cast) owner() nostr.PubKey  { return testkit.Someone(c.r.IntN(4)) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// sign makes an event of that time, or of a second before that is not crowded: no paging reads more
// events of one second than a page holds.
func (c *cast) sign(author nostr.PubKey, at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	for c.seconds[at] > 0 && c.r.IntN(8) > 0 || c.seconds[at] > 2 {
		at--
	}
	c.seconds[at]++
	c.n++
	e := testkit.Mark(author, at, kind, fmt.Sprint("event ", c.n), tags...)
	if c.work > 0 && c.r.IntN(4) > 0 {
		for n := 0; zeros(e.ID) < c.work; n++ {
			e = testkit.Mark(author, at, kind, fmt.Sprint("event ", c.n), append(tags[:len(tags):len(tags)], nostr.Tag{"nonce", fmt.Sprint(n), fmt.Sprint(c.work)})...)
		}
	}
	c.all[e.ID] = e
	c.made = append(c.made, e)
	return e
}

// zeros is how many bits an id begins with that are 0 (NIP-13).
func zeros(id nostr.ID) int { return bits.LeadingZeros64(binary.BigEndian.Uint64(id[:])) }

// invent makes an event that somebody might publish now.
func (c *cast) invent() *nostr.Event {
	at := c.now()
	switch c.r.IntN(10) {
	case 0:
		at -= int64(c.r.IntN(3_000_000))
	case 1:
		at -= int64(c.r.IntN(3000))
	case 2:
		at += int64(c.r.IntN(800))
	}
	roots, anns := c.of(func(e *nostr.Event) bool { return isRoot(e) }), c.of(func(e *nostr.Event) bool { return e.Kind == 30617 })
	switch p := c.r.IntN(40); {
	case p < 5 || len(anns) == 0:
		return c.announce(c.owner(), pick(c.r, identifiers...), at)
	case p < 8:
		a := pick(c.r, anns...)
		return c.sign(pick(c.r, a.PubKey, a.PubKey, c.owner(), c.person()), at, 30618, nostr.Tag{"d", a.Tags.D()}, nostr.Tag{"refs/heads/main", fmt.Sprint(c.n)})
	case p < 20 || len(roots) == 0:
		return c.root(at, anns)
	case p < 29:
		return c.reply(at, pick(c.r, roots...))
	case p < 32:
		return c.sign(c.person(), at, pick[nostr.Kind](c.r, 1, 7, 1985, 9802), nostr.Tag{pick(c.r, "a", "A", "q"), pick(c.r, anns...).Address()})
	case p < 34:
		e := pick(c.r, c.made...)
		return c.sign(c.person(), at, pick[nostr.Kind](c.r, 1, 1111, 7), nostr.Tag{pick(c.r, "e", "E", "q"), e.ID.String()})
	case p < 37:
		return c.deletion(at)
	case p == 37:
		return c.sign(c.person(), at, 10317, nostr.Tag{"g", "wss://grasp.example.com"})
	case p == 38 && c.r.IntN(8) == 0:
		return c.sign(c.person(), at, nostr.KindVanish, nostr.Tag{"relay", pick(c.r, "ALL_RELAYS", string(pick(c.r, c.relays...)))})
	case p == 38:
		return c.sign(c.person(), at, pick[nostr.Kind](c.r, 1, 0, 3, 20_001, 10002), nostr.Tag{"t", "noise"})
	}
	return c.sign(c.person(), at+3600+int64(c.r.IntN(100_000)), 1621, nostr.Tag{"a", pick(c.r, anns...).Address()})
}

func isRoot(e *nostr.Event) bool { return e.Kind >= 1617 && e.Kind <= 1621 && e.Kind != 1620 }

func (c *cast) of(match func(*nostr.Event) bool) []*nostr.Event {
	var out []*nostr.Event
	for _, e := range c.made {
		if match(e) {
			out = append(out, e)
		}
	}
	return out
}

// announce makes a repository, or another version of it.
func (c *cast) announce(owner nostr.PubKey, d string, at int64) *nostr.Event {
	relays := nostr.Tag{"relays"}
	for _, u := range c.relays {
		if c.r.IntN(5) < 3 {
			relays = append(relays, c.spelled(u))
		}
	}
	tags := []nostr.Tag{{"d", d}, {"name", "a name"}, relays}
	if c.r.IntN(3) == 0 {
		m := nostr.Tag{"maintainers"}
		for range 1 + c.r.IntN(3) {
			m = append(m, c.owner().String())
		}
		tags = append(tags, m)
	}
	if c.r.IntN(25) == 0 {
		tags = append(tags, nostr.Tag{"u", "30617:" + c.owner().String() + ":" + d})
	}
	return c.sign(owner, at, 30617, tags...)
}

// spelled writes a relay URL as people do.
func (c *cast) spelled(u grasp.RelayURL) string {
	s := string(u)
	switch c.r.IntN(6) {
	case 0:
		return s + "/"
	case 1:
		return strings.ToUpper(s)
	case 2:
		return s + ":80/#x"
	}
	return s
}

func (c *cast) root(at int64, anns []*nostr.Event) *nostr.Event {
	tags := []nostr.Tag{{"a", pick(c.r, anns...).Address()}}
	if c.r.IntN(4) == 0 {
		tags = append(tags, nostr.Tag{"a", pick(c.r, anns...).Address()})
	}
	switch c.r.IntN(25) {
	case 0:
		tags = append(tags, nostr.Tag{"-"})
	case 1, 2:
		tags = append(tags, nostr.Tag{"expiration", fmt.Sprint(c.now() + int64(c.r.IntN(600_000)) - 20_000)})
	}
	return c.sign(c.person(), at, pick[nostr.Kind](c.r, 1617, 1618, 1619, 1621, 1621), tags...)
}

// reply answers a root event, or an answer to it.
func (c *cast) reply(at int64, root *nostr.Event) *nostr.Event {
	id := root.ID.String()
	to := c.of(func(e *nostr.Event) bool { return has(e, id, "e", "E") })
	if len(to) > 0 && c.r.IntN(3) == 0 {
		parent := pick(c.r, to...)
		return c.sign(c.person(), at, 1111, nostr.Tag{"E", id}, nostr.Tag{"e", parent.ID.String()})
	}
	switch c.r.IntN(5) {
	case 0:
		return c.sign(c.person(), at, pick[nostr.Kind](c.r, 1630, 1631, 1632), nostr.Tag{"e", id}, nostr.Tag{"a", values(root, "a")[0]})
	case 1:
		return c.sign(c.person(), at, 1, nostr.Tag{"q", id})
	case 2:
		return c.sign(c.person(), at, 1111, nostr.Tag{"e", id})
	}
	return c.sign(c.person(), at, 1111, nostr.Tag{"E", id}, nostr.Tag{"e", id})
}

// deletion takes something back, mostly what its author has written. What can be replaced is deleted by its address:
// which of its versions a deletion by id meets depends on the order of arrival.
func (c *cast) deletion(at int64) *nostr.Event {
	e := pick(c.r, c.made...)
	author := e.PubKey
	if c.r.IntN(6) == 0 {
		author = c.person()
	}
	if a := e.Address(); a != "" {
		return c.sign(author, max(at, e.CreatedAt+1), nostr.KindDeletion, nostr.Tag{"a", a})
	}
	tags := []nostr.Tag{{"e", e.ID.String()}}
	if as := values(e, "a"); len(as) > 0 && c.r.IntN(2) == 0 {
		tags = append(tags, nostr.Tag{"a", as[0]})
	}
	return c.sign(author, at, nostr.KindDeletion, tags...)
}

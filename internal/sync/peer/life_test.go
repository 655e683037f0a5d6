package peer_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

var (
	lives  = flag.Int("lives", 250, "how many random lives of a peer are lived")
	from   = flag.Uint64("from", 0, "the first of them")
	replay = flag.Int64("seed", -1, "live this one life only, and tell it")
)

// pick returns one of its arguments.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func randomCharacter(r *rand.Rand) character {
	c := character{
		maxSubs: pick(r, 0, 0, 0, 20, 10, 5, 4, 3, 2, 1), tooMany: pick(r, "closed", "notice", "late"),
		filters: pick(r, 0, 0, 10, 4), values: pick(r, 0, 0, 0, 10, 5), tooBig: pick(r, "closed", "notice", "empty"),
		page: pick(r, 500, 500, 50, 20, 5, 2, 1), order: pick(r, "newest", "newest", "oldest", "moody"),
		neg:     pick(r, "works", "works", "works", "works", "notice", "closed", "negerr", "silent", "drop"),
		records: pick(r, 0, 0, 0, 20, 5), mute: r.IntN(5) == 0, noZero: r.IntN(8) == 0, withheld: pick(r, 0, 0, 0, 10),
	}
	c.auth, c.kinds = pick(r, "", "", "", "", "first", "late", "notice"), pick(r, "", "", "", "", "refuses", "empties")
	if c.kinds == "empties" {
		c.neg = "notice" // no relay is known that does both
	}
	c.told.MaxSubscriptions = pick(r, 0, c.maxSubs, c.maxSubs, 300)
	c.told.MaxLimit = pick(r, 0, 0, 500, 20)
	c.cost = pick(r, 0, 0, 0, 200, 60)
	c.ids = pick(r, 0, 1, 2, 5)
	c.dislikes = pick(r, "", "", "", "closed", "notice", "named", "noticed", "silent", "drop")
	return c
}

// truncate makes many relays reconcile less than they have, and not say so.
func (c *character) truncate(r *rand.Rand) {
	if r.IntN(2) == 0 {
		return
	}
	c.newest, c.varies = pick(r, 1, 2, 3, 5, 8, 13, 20), r.IntN(3) == 0
	c.given = pick(r, 0, 0, 1, 2, 4)
	if r.IntN(4) > 0 && c.kinds != "empties" {
		c.neg = "works"
	}
}

// choose makes some relays put into a page whatever they like of what matches, or take its ends for exclusive.
func (c *character) choose(r *rand.Rand) {
	if c.page < 20 || r.IntN(3) > 0 {
		return
	}
	c.page, c.order = pick(r, c.page, 20), pick(r, "first", "any", "any", "newest")
	c.open = c.order == "newest" || r.IntN(2) == 0
	if r.IntN(2) == 0 {
		c.neg = "notice"
	}
}

func randomTemper(r *rand.Rand) temper {
	of := func(most int) int { return pick(r, 0, 0, 0, r.IntN(most+1)) }
	return temper{
		refuseDial: of(90), drop: of(10), silence: of(20), closed: of(30), notice: of(20), loseEvent: of(30),
		double: of(30), unknown: of(30), forget: of(20), lateEnd: of(20), storeFails: of(20),
	}
}

func randomConfig(r *rand.Rand) peer.Config {
	return peer.Config{
		MaxTags: pick(r, 0, 10, 5, 2), MaxFilters: pick(r, 0, 0, 30, 10), NoNegentropy: r.IntN(10) == 0,
		WholeFrom: pick(r, 0, 1, 1),
	}
}

// birth makes a world with something in it.
func birth(t testing.TB, seed uint64) *world { return birthWith(t, seed, func(*character) {}) }

// birthWith is birth with a trait of the relay changed.
func birthWith(t testing.TB, seed uint64, change func(*character)) *world {
	r := rand.New(rand.NewPCG(seed, 2))
	c, cfg := randomCharacter(r), randomConfig(r)
	c.truncate(r)
	c.choose(rand.New(rand.NewPCG(seed, 3)))
	c.sifted = c.page >= 20 && rand.New(rand.NewPCG(seed, 6)).IntN(4) == 0
	change(&c)
	w := newWorld(t, seed, c, cfg)
	w.relay.temper, w.door = randomTemper(w.r), pick[int64](r, 120, 120, 3000)
	w.relay.messages = pick(rand.New(rand.NewPCG(seed, 5)), 0, 0, 0, 60, 20)
	for range w.r.IntN(20) {
		w.local1(w.shop.Happen())
	}
	w.keep(w.shop.Announce(key(50), "home", w.unix(), []string{us, string(here)}))
	if w.relay.dislikes != "" || w.r.IntN(4) == 0 {
		w.poison()
	}
	for range w.r.IntN(60) {
		w.appear(int64(w.r.IntN(4_000_000)))
	}
	return w
}

// local1 lets clients publish at our own relay.
func (w *world) local1(entries []wanttest.Entry) {
	apply(w.desired, entries)
	for _, x := range entries {
		if x.Added != nil {
			w.store[x.Added.ID] = x.Added
			w.byID = append(w.byID, x.Added)
		}
	}
	w.derive()
}

// appear publishes an event at the remote relay that is so many seconds old.
func (w *world) appear(age int64) {
	created := w.unix() - age
	for w.crowded(created) {
		created--
	}
	e := w.invent(created)
	sent := w.relay.publish(e)
	lossy := w.relay.conn != nil && w.relay.conn.lossy
	if age > 14*60 || w.skew != 0 || !sent && lossy {
		w.excused[e.ID] = true
	}
	w.note("published %v, kind %d, %d s old, sent %v", e.ID, e.Kind, age, sent)
}

// crowded keeps a second from holding more than a page of the relay, which no
// paging could read.
func (w *world) crowded(second int64) bool {
	n := 1
	for _, e := range w.relay.events {
		if e.CreatedAt == second {
			n++
		}
	}
	return n >= 2 && n >= min(w.relay.character.page, 15)
}

// invent makes an event that somebody might want.
func (w *world) invent(created int64) *nostr.Event {
	m, r := &w.shop.Mint, w.r
	author, d := key(r.IntN(6)), identifier(r.IntN(3))
	if r.IntN(4) == 0 {
		author, d = key(50), "home"
	}
	at := address(author, d)
	roots := w.roots()
	if others := w.others(); len(others) > 0 && r.IntN(3) == 0 {
		return w.around(created, others[r.IntN(len(others))])
	}
	switch p := r.IntN(10); {
	case p == 0:
		return m.Event(nip34.KindState, author, created, nostr.Tag{"d", d})
	case p == 1:
		return m.Announce(key(100+r.IntN(20)), fmt.Sprint("e", r.IntN(9)), created, []string{relay(3)})
	case p == 2:
		return m.Event(nostr.KindDeletion, author, created, nostr.Tag{"a", "30618" + at[5:]})
	case p == 3:
		return m.Event(nostr.KindComment, key(200), created, nostr.Tag{pick(r, "A", "q"), at})
	case p < 6 || len(roots) == 0:
		return m.Issue(created, at)
	}
	return m.Event(nostr.KindComment, key(201), created, nostr.Tag{pick(r, "e", "E", "q"), roots[r.IntN(len(roots))].ID.String()})
}

// roots returns the root events of both sides.
func (w *world) roots() []*nostr.Event {
	var out []*nostr.Event
	for _, e := range w.byID {
		if nip34.Is(e.Kind, nip34.Root) {
			out = append(out, e)
		}
	}
	for _, e := range w.relay.events {
		if nip34.Is(e.Kind, nip34.Root) {
			out = append(out, e)
		}
	}
	return out
}

// live lets random things happen.
func (w *world) live() {
	for range 3 + w.r.IntN(25) {
		switch p := w.r.IntN(20); {
		case p < 7:
			w.appear(pick(w.r, 0, 0, int64(w.r.IntN(100)), int64(w.r.IntN(1_000_000))))
		case p < 10:
			w.local1(w.shop.Happen())
		case p < 12:
			w.lose("reset")
		case p == 12:
			w.relay.temper = randomTemper(w.r)
		case p == 13:
			w.relay.temper = temper{}
		case p == 14 && w.r.IntN(3) == 0:
			w.skew += time.Duration(w.r.IntN(120)-60) * time.Minute
		case p == 15 && w.want != nil:
			w.note("want: none")
			w.step(peer.Wanted{})
			w.after(w.some(0, 120_000), func() { w.step(peer.Wanted{Want: w.want}) })
		}
		w.run(w.mono+pick(w.r, w.some(0, 300), w.some(0, 10_000), w.some(0, 100_000), w.some(0, 2_000_000), w.some(0, 20_000_000)), nil)
	}
}

// settle lets the relay behave. What is wanted must be confirmed in the end, and
// what the relay has of it must be here.
func (w *world) settle() {
	w.relay.temper = temper{}
	w.note("the relay behaves")
	w.run(w.mono+10*time.Second, nil) // what is under way arrives or is lost
	if w.relay.conn != nil && w.relay.auth != "" && w.authed > 0 && !w.relay.conn.authed {
		w.lose("a relay that did not take the AUTH takes none on this connection")
	}
	if !w.run(w.mono+60*time.Hour, func() bool { return w.settled() }) {
		s := w.peer.Status()
		w.fail("a relay that behaves is not settled: %+v", s)
	}
	if w.peer.Polled() {
		w.run(w.mono+26*time.Hour, nil)
	}
	for _, e := range w.missing() {
		if !w.excused[e.ID] && !w.peer.Unproven() {
			w.fail("settled without event %v, kind %d, created %d", e.ID, e.Kind, e.CreatedAt)
		}
	}
	if w.relay.conn.lossy {
		w.lose("a subscription that the relay has forgotten stays forgotten")
	}
	// A full resync finds the rest, and what appears then arrives.
	w.run(w.mono+26*time.Hour, nil)
	if !w.run(w.mono+10*time.Hour, func() bool { return w.settled() }) {
		w.fail("not settled after a full resync: %+v", w.peer.Status())
	}
	w.references()
	for _, age := range []int64{0, 0, 30, 5000} {
		w.appear(age)
	}
	lag := 5 * time.Minute
	if w.peer.Polled() {
		lag = 3 * time.Hour
	}
	w.run(w.mono+lag, nil)
	if missing := w.missing(); len(missing) > 0 {
		e := missing[0]
		w.fail("after a full resync %d events are missing, such as %v, kind %d, created %d, published at %v", len(missing), e.ID, e.Kind, e.CreatedAt, w.relay.born[e.ID])
	}
	w.talk()
}

// talk says something of root events that are asked in turns. Where others are followed that rank lower, what is said next
// comes live.
func (w *world) talk() {
	for range 3 {
		ids, now := w.peer.PolledIDs(), w.unix()
		if len(ids) == 0 || !w.settled() || !w.peer.Displaces(now-now%3600) {
			return
		}
		id := ids[w.r.IntN(len(ids))].String()
		say := func() *nostr.Event {
			return w.shop.Mint.Event(nostr.KindComment, key(202), w.unix(), nostr.Tag{pick(w.r, "e", "E", "q"), id})
		}
		w.note("something is said of %s", id)
		bears := w.peer.Bears()
		w.keep(say())
		w.run(w.mono+3*time.Minute, nil)
		next := say()
		w.relay.publish(next)
		w.run(w.mono+time.Minute, nil)
		if w.peer.Bears() != bears {
			return // the relay showed only now that it bears less
		}
		if w.store[next.ID] == nil && !w.relay.withheld[next.ID] {
			w.fail("what is said next of %s does not come live: %+v", id, w.peer.Status())
		}
	}
}

// settled says whether everything wanted is confirmed, but for what the relay refuses.
func (w *world) settled() bool { return w.peer.AllConfirmed() && !w.window && w.refusals() }

func live(t testing.TB, seed uint64, telling bool) {
	w := birth(t, seed)
	w.logging = telling
	w.live()
	w.settle()
}

func TestLives(t *testing.T) {
	n := *lives
	if testing.Short() {
		n = min(n, 50)
	}
	each(t, 0, n, live)
}

// each lives n lives from a seed on, or the one that was asked for.
func each(t *testing.T, first uint64, n int, live func(t testing.TB, seed uint64, telling bool)) {
	if *replay >= 0 {
		live(t, uint64(*replay), true)
		return
	}
	for seed := range uint64(n) {
		seed += first + *from
		t.Run(fmt.Sprint(seed), func(t *testing.T) { live(t, seed, false) })
	}
}

// TestLivesWithABoundOfAllFilters lives lives in which a relay bears few values in all REQs together.
func TestLivesWithABoundOfAllFilters(t *testing.T) {
	for _, seed := range []uint64{100180, 100331, 101935, 101993} {
		w := birthWith(t, seed, func(c *character) { c.cost = 60 })
		w.live()
		w.settle()
	}
	for seed := range uint64(min(*lives/5, 30)) {
		w := birthWith(t, seed+200_000, func(c *character) { c.cost = []int{60, 20, 12}[seed%3] })
		w.live()
		w.settle()
	}
}

// TestLivesWithSiftedPages lives lives in which a relay filters its pages once they are full, whatever it puts into them.
func TestLivesWithSiftedPages(t *testing.T) {
	each(t, 300_000, *lives/8, func(t testing.TB, seed uint64, telling bool) {
		w := birthWith(t, seed, func(c *character) {
			c.sifted, c.page, c.neg = true, max(20, c.page), "notice"
			if seed%2 == 0 {
				c.page = 20
			}
		})
		w.logging = telling
		w.live()
		w.settle()
	})
}

// TestLivesThatLostConnectionsCost: what a connection was through with is not asked for again without end, and what came to the relay since is.
func TestLivesThatLostConnectionsCost(t *testing.T) {
	for _, seed := range []uint64{2118, 100620, 101250, 101555, 101729, 101839, 102298, 102788, 103119, 103641} {
		live(t, seed, false)
	}
}

// TestLivesOfWhatGaveWay: a root event that gave way to others comes live when it is talked about, and a NOTICE about another request clears nobody who
// is tried.
func TestLivesOfWhatGaveWay(t *testing.T) {
	for _, seed := range []uint64{100359, 102017, 104480} {
		live(t, seed, false)
	}
}

func FuzzPeer(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { live(t, seed, false) })
}

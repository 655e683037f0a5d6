package fair_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/base/fair"
)

// model is an account that says all anew from lists of what happened.
type model struct {
	fair.Config
	grants  []*held // that are open
	waiting []*wait
	ended   []*wait // since the last step
	turned  []turned
	use     bucket.Usage[string]
	moves   int // grants that became revocable or changed hands, for the order of those that may be revoked
}

type held struct {
	of        fair.Party
	among     []fair.Party // more than one where several share it
	shared    int          // when they came to share it, counted
	real      *fair.Grant
	size      int64
	began     time.Time
	gains     []gain
	revocable int  // when it became that, counted; 0 is not
	yields    bool // it may be revoked, unless it is nobody's
	listed    time.Time
	usual     time.Duration
	leaving   bool
}

type gain struct {
	at time.Time
	n  int64
}

type wait struct {
	g      *held
	n      int64
	since  time.Time
	cancel context.CancelFunc
	got    chan error // how the wait ended
	want   error      // how it has to end
}

type turned struct {
	who string
	at  time.Time
}

func top(p fair.Party) string {
	switch {
	case p.Network != "":
		return "network " + p.Network
	case p.Address != "":
		return "address " + p.Address
	case p.Owner != "":
		return "alone " + p.Owner
	}
	return ""
}

func (m *model) sum(ok func(fair.Party) bool) (n int64) {
	for _, g := range m.grants {
		if ok(g.of) {
			n += g.size
		}
	}
	return n
}

func (m *model) used() int64 { return m.sum(func(fair.Party) bool { return true }) }
func (m *model) total() int64 {
	return min(m.Total, max(0, m.Room()))
}
func (m *model) has(who string) int64 { return m.sum(func(p fair.Party) bool { return top(p) == who }) }

func (m *model) bound(p fair.Party, n int64) fair.Refusal {
	network := func(q fair.Party) bool { return q.Network == p.Network }
	switch {
	case p.Network != "" && m.sum(network)+n > m.Network, p.Address != "" && m.sum(func(q fair.Party) bool { return q.Address == p.Address })+n > m.Address:
		return fair.OverAddress
	case p.Owner != "" && m.sum(func(q fair.Party) bool { return q.Owner == p.Owner })+n > m.Owner:
		return fair.OverOwner
	}
	return fair.Granted
}

func (m *model) free(p fair.Party, n int64) int64 {
	if p != (fair.Party{}) && m.Little > 0 && m.has(top(p))+n > m.Little {
		return m.total() - m.total()/8 - m.used()
	}
	return m.total() - m.used()
}

func (m *model) refusal(now time.Time, p fair.Party, n int64) fair.Refusal {
	if why := m.bound(p, n); why != fair.Granted {
		return why
	}
	if m.overHalf(now, p, n) || n > m.free(p, n) || !m.passes(now, p, n) {
		return fair.OverAll
	}
	return fair.Granted
}

// little returns what parties have that have little, but one.
func (m *model) little(but string) (n int64) {
	parties := map[string]bool{but: true, "": true}
	for _, g := range m.grants {
		if who := top(g.of); !parties[who] && m.has(who) <= m.Little {
			n += m.has(who)
		}
		parties[top(g.of)] = true
	}
	return n
}

func (m *model) isLittle(p fair.Party, n int64) bool { return m.has(top(p))+n <= m.Little }

// first returns for whom room is kept, or would be if there were none.
func (m *model) first(now time.Time) (best *wait) {
	for _, w := range m.waiting {
		p := w.g.of
		kept := m.total() - m.free(p, w.n) - m.used() // for those who have little
		may := m.bound(p, w.n) == fair.Granted && !m.overHalf(now, p, w.n) && !m.slow(now, w.g) && w.n+w.g.size+kept <= m.total()
		if may && now.Sub(w.since) >= 5*time.Second && (best == nil || m.ahead(now, w, best)) {
			best = w
		}
	}
	return best
}

// fits reports whether the first has room: beside all that is taken, and what is left of the eighth.
func (m *model) fits(w *wait) bool {
	p := w.g.of
	if m.isLittle(p, w.n) || p == (fair.Party{}) || m.Little == 0 {
		return m.used()+w.n <= m.total()
	}
	return m.used()+w.n+max(0, m.total()/8-m.little(top(p))) <= m.total()
}

// passes reports whether a party may have n more, though somebody waits first.
func (m *model) passes(now time.Time, p fair.Party, n int64) bool {
	w := m.first(now)
	return w == nil || m.fits(w) || p == (fair.Party{}) || m.isLittle(p, n) && m.little("")+n+w.n <= m.total()
}

func (m *model) overHalf(now time.Time, p fair.Party, n int64) bool {
	contested := slices.ContainsFunc(m.turned, func(t turned) bool { return t.who != top(p) && now.Sub(t.at) < 10*time.Second }) ||
		slices.ContainsFunc(m.waiting, func(w *wait) bool { return top(w.g.of) != top(p) && m.bound(w.g.of, w.n) == fair.Granted })
	return p != (fair.Party{}) && contested && 2*(m.has(top(p))+n) > m.total()+1
}

// turnAway notes a refusal. The account remembers two parties.
func (m *model) turnAway(now time.Time, g *held, n int64) {
	if p := g.of; m.bound(p, n) == fair.Granted && !m.slow(now, g) {
		m.turned = slices.DeleteFunc(m.turned, func(t turned) bool { return t.who == top(p) })
		m.turned = append(m.turned, turned{top(p), now})
		m.turned = m.turned[max(0, len(m.turned)-2):]
	}
}

// slow reports whether a grant grows too slowly.
func (m *model) slow(now time.Time, g *held) bool {
	recent, at := 0.0, g.began
	for _, x := range g.gains {
		recent = min(recent*math.Pow(2, -x.at.Sub(at).Seconds()/5)+float64(x.n), 64*float64(m.Slow))
		at = x.at
	}
	recent *= math.Pow(2, -now.Sub(at).Seconds()/5)
	return m.Slow > 0 && now.Sub(g.began) >= 10*time.Second && recent*math.Ln2/5 < float64(m.Slow)
}

// serve grants what the account has to grant, one after the other.
func (m *model) serve(now time.Time) {
	for {
		var best *wait
		for _, w := range m.waiting {
			goes := w == m.first(now) && m.fits(w) || m.refusal(now, w.g.of, w.n) == fair.Granted
			if goes && (best == nil || m.ahead(now, w, best)) {
				best = w
			}
		}
		if best == nil {
			return
		}
		m.waiting = slices.DeleteFunc(m.waiting, func(w *wait) bool { return w == best })
		m.gain(now, best.g, best.n)
		m.ended = append(m.ended, best)
	}
}

// ahead reports whether x goes before y, which came earlier.
func (m *model) ahead(now time.Time, x, y *wait) bool {
	old := func(w *wait) bool { return m.has(top(w.g.of)) == 0 && now.Sub(w.since) >= 15*time.Second }
	return !old(y) && (old(x) || m.order(now, x.g.of, y.g.of) < 0)
}

func (m *model) order(now time.Time, p, q fair.Party) int {
	owned := func(p fair.Party) int64 {
		return m.sum(func(q fair.Party) bool { return p.Owner != "" && q.Owner == p.Owner })
	}
	seconds := func(who string) int { return m.use.Seconds(now, who) }
	return cmp.Or(cmp.Compare(m.has(top(p)), m.has(top(q))), seconds(top(p))-seconds(top(q)), cmp.Compare(owned(p), owned(q)),
		seconds("owner "+p.Owner)-seconds("owner "+q.Owner))
}

func (m *model) gain(now time.Time, g *held, n int64) {
	g.size += n
	g.gains = append(g.gains, gain{now, n})
}

// TestLives has parties take, grow, wait, revoke and give back at random, and compares an account with the model after each step.
func TestLives(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) { live(t, rand.New(rand.NewPCG(seed, 29)), 400) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// anyParty returns an address, in a network or not, an owner or both, or nobody.
func anyParty(r *rand.Rand) fair.Party {
	of := r.IntN(8)
	p := fair.Party{Address: fmt.Sprint(of), Owner: []string{"", "x", "y"}[r.IntN(3)]}
	if of > 3 {
		p.Network = fmt.Sprint(of / 6)
	}
	if r.IntN(10) == 0 {
		p.Address, p.Network = "", ""
	}
	return p
}

// settle hands what several share to whoever of them has least.
func (m *model) settle() {
	shared := slices.DeleteFunc(slices.Clone(m.grants), func(g *held) bool { return len(g.among) < 2 })
	slices.SortFunc(shared, func(g, h *held) int { return g.shared - h.shared })
	for _, g := range shared {
		m.hand(g)
	}
}

// hand makes a grant one of the first party that has least beside it, of those that share it. Among those that may be revoked it comes last.
func (m *model) hand(g *held) {
	beside := func(p fair.Party) int64 {
		if top(p) == "" {
			return -1
		}
		return m.sum(func(q fair.Party) bool { return top(q) == top(p) }) - map[bool]int64{true: g.size}[top(p) == top(g.of)]
	}
	best := g.among[0]
	for _, p := range g.among {
		if beside(p) < beside(best) {
			best = p
		}
	}
	if best == g.of {
		return
	}
	g.of = best
	m.list(g)
}

// list puts a grant last among those that may be revoked.
func (m *model) list(g *held) {
	m.moves++
	if g.revocable = 0; g.yields && g.of != (fair.Party{}) && !g.leaving {
		g.revocable = m.moves
	}
}

func live(t *testing.T, r *rand.Rand, steps int) {
	room := int64(10_000)
	c := fair.Config{
		Name: "things", Total: 1000, Address: []int64{0, 200, 600}[r.IntN(3)], Owner: []int64{0, 300}[r.IntN(2)], Little: []int64{0, 10, 60}[r.IntN(3)],
		Slow: []int64{0, 5}[r.IntN(2)], Newest: r.IntN(2) == 0, Places: 6, PlacesOne: 3, Room: func() int64 { return room },
	}
	a := fair.New(c)
	m := &model{Config: c}
	m.Address, m.Owner = cmp.Or(c.Address, c.Total), cmp.Or(c.Owner, c.Total)
	m.Network = min(c.Total, 4*m.Address, max(m.Address, c.Total/2))
	drop := func(g *held) {
		m.grants = slices.DeleteFunc(m.grants, func(x *held) bool { return x == g })
		for _, w := range m.waiting {
			if w.g == g {
				m.refuse(w, fair.NoPlace)
			}
		}
		g.among = nil
		m.waiting = slices.DeleteFunc(m.waiting, func(w *wait) bool { return w.g == g })
	}
	for step := range steps {
		for range max(0, r.IntN(8)-4) {
			time.Sleep(time.Second) // those who wait look again
			synctest.Wait()
			m.serve(time.Now())
		}
		now := time.Now()
		n := []int64{1, 5, 40, 150, 300}[r.IntN(5)]
		var g *held
		if len(m.grants) > 0 {
			g = m.grants[r.IntN(len(m.grants))]
		}
		what := r.IntN(14)
		switch {
		case g == nil || what < 3:
			p := anyParty(r)
			g = &held{of: p, real: a.Open(p), began: now}
			m.grants = append(m.grants, g)
		case what < 6:
			want := m.refusal(now, g.of, n)
			if want == fair.OverAll {
				m.settle()
				want = m.refusal(now, g.of, n)
			}
			why, instead := g.real.TryGrow(n)
			if why != want {
				t.Fatalf("step %d: %d more for %v: %v, want %v", step, n, g.of, why, want)
			}
			if why == fair.Granted {
				m.gain(now, g, n)
			}
			if why == fair.OverAll {
				m.checkVictim(t, now, g, n, instead)
				m.turnAway(now, g, n)
			}
			if instead != nil {
				for _, x := range m.grants {
					if x.real == instead {
						x.leaving, x.revocable = true, 0
					}
				}
				instead.Oust()
			}
		case what < 7:
			g.usual, g.listed = time.Duration(r.IntN(20))*time.Second, now
			g.real.RevocableFor(g.usual, func() {})
			g.yields = true
			m.list(g)
		case what < 8:
			g.real.Shrink(n)
			if g.size > n {
				g.size = n
				m.serve(now)
			}
		case what < 10:
			ctx, cancel := context.WithCancel(t.Context())
			w := &wait{g: g, n: n, since: now, cancel: cancel, got: make(chan error, 1)}
			go func() { w.got <- g.real.Wait(ctx, n) }()
			synctest.Wait()
			m.ask(now, w)
		case what < 11 && len(m.waiting) > 0:
			w := m.waiting[r.IntN(len(m.waiting))]
			m.waiting = slices.DeleteFunc(m.waiting, func(x *wait) bool { return x == w })
			w.cancel()
			m.turnAway(now, w.g, w.n)
			m.refuse(w, context.Canceled)
			m.serve(now)
		case what == 11:
			g.real.Progress(n)
			g.gains = append(g.gains, gain{now, n})
		case what == 12:
			m.moves++
			g.among, g.shared = nil, m.moves
			for range 1 + r.IntN(3) {
				g.among = append(g.among, anyParty(r))
			}
			g.real.Of(g.among...)
			m.hand(g)
			m.serve(now)
		default:
			g.real.GiveBack()
			drop(g)
			m.serve(now)
			if r.IntN(2) == 0 {
				a.Charge(g.of, 10*time.Second)
				for _, who := range []string{top(g.of), "owner " + g.of.Owner} {
					if who != "" && who != "owner " { // nobody is the owner
						m.use.Add(now, who, 10*time.Second)
					}
				}
			}
			if r.IntN(4) == 0 {
				room = int64(r.IntN(600))
			}
		}
		synctest.Wait()
		m.checkWaits(t)
		for _, g := range m.grants {
			if size := g.real.Size(); size != g.size {
				t.Fatalf("step %d: %v has %d, want %d", step, g.of, size, g.size)
			}
		}
		if left, want := a.Left(), max(0, m.total()-m.used()); left != want || a.Waiting() != len(m.waiting) {
			t.Fatalf("step %d: %d left, want %d; %d wait, want %d", step, left, want, a.Waiting(), len(m.waiting))
		}
	}
	for len(m.grants) > 0 {
		g := m.grants[0]
		g.real.GiveBack()
		g.real.GiveBack()
		drop(g)
		m.serve(time.Now())
	}
	synctest.Wait()
	if left := a.Unreturned(); len(left) > 0 {
		t.Errorf("not given back: %q", left)
	}
}

func (m *model) refuse(w *wait, why error) {
	w.want = why
	m.ended = append(m.ended, w)
}

// ask has w wait, or refuses it.
func (m *model) ask(now time.Time, w *wait) {
	of := func(who string) (n int) {
		for _, x := range m.waiting {
			if top(x.g.of) == who {
				n++
			}
		}
		return n
	}
	if m.refusal(now, w.g.of, w.n) == fair.Granted {
		m.gain(now, w.g, w.n)
		m.ended = append(m.ended, w)
		return
	}
	who := top(w.g.of)
	if who != "" && of(who) >= m.PlacesOne {
		m.turnAway(now, w.g, w.n)
		m.refuse(w, fair.NoPlace)
		return
	}
	if who != "" && len(m.waiting) >= m.Places {
		var worst *wait
		for _, x := range m.waiting {
			if top(x.g.of) == "" || of(top(x.g.of)) < 2 {
				continue
			}
			if worst == nil || top(x.g.of) == top(worst.g.of) ||
				cmp.Or(of(top(x.g.of))-of(top(worst.g.of)), m.use.Seconds(now, top(x.g.of))-m.use.Seconds(now, top(worst.g.of))) > 0 {
				worst = x
			}
		}
		if worst == nil || cmp.Or(of(top(worst.g.of))-of(who)-1, m.use.Seconds(now, top(worst.g.of))-m.use.Seconds(now, who)) <= 0 {
			m.turnAway(now, w.g, w.n)
			m.refuse(w, fair.NoPlace)
			return
		}
		m.waiting = slices.DeleteFunc(m.waiting, func(x *wait) bool { return x == worst })
		m.turnAway(now, worst.g, worst.n)
		m.refuse(worst, fair.NoPlace)
	}
	m.waiting = append(m.waiting, w)
}

// checkWaits checks that those waits have ended that should.
func (m *model) checkWaits(t *testing.T) {
	t.Helper()
	for _, w := range m.waiting {
		if len(w.got) > 0 {
			t.Fatalf("%v waits no more for %d: %v", w.g.of, w.n, <-w.got)
		}
	}
	for _, w := range m.ended {
		if len(w.got) == 0 {
			t.Fatalf("%v still waits for %d; want %v", w.g.of, w.n, w.want)
		}
		if err := <-w.got; err != w.want {
			t.Fatalf("the wait of %v for %d ended with %v, want %v", w.g.of, w.n, err, w.want)
		}
	}
	m.ended = nil
}

// checkVictim checks which grant the account would revoke so that g has n more.
func (m *model) checkVictim(t *testing.T, now time.Time, g *held, n int64, instead *fair.Grant) {
	t.Helper()
	var leaving, yields int64
	var victim, want *held
	before := func(x, y *held) bool {
		if m.slow(now, x) != m.slow(now, y) {
			return m.slow(now, x)
		}
		if c := cmp.Compare(m.has(top(x.of)), m.has(top(y.of))); c != 0 {
			return c > 0
		}
		return top(x.of) == top(y.of) && (x.revocable < y.revocable) != m.Newest
	}
	may := func(x *held) bool {
		lasts := now.Sub(x.listed)
		overstays := x.usual > 0 && lasts >= x.usual && top(x.of) != top(g.of) &&
			m.use.Seconds(now, top(x.of))+int(lasts/time.Second) > m.use.Seconds(now, top(g.of))
		return m.slow(now, x) || m.has(top(x.of)) > m.has(top(g.of))+n || overstays
	}
	for _, x := range m.grants {
		if x.leaving {
			leaving += x.size
		}
		if x != g && x.revocable > 0 && x.size > 0 && may(x) {
			if yields += x.size; want == nil || before(x, want) {
				want = x
			}
		}
		if x.real == instead {
			victim = x
		}
	}
	if n <= m.free(g.of, n)+leaving || m.Room == nil && n > m.free(g.of, n)+leaving+yields || m.overHalf(now, g.of, n) || m.slow(now, g) {
		want = nil
	}
	if victim == want || victim != nil && want != nil && !before(want, victim) {
		return
	}
	t.Fatalf("%v gives way to %v for %d (%d of %d), want %v; slow %d free %d leaving %d", victim, g, n, m.has(top(victim.of)), m.has(top(g.of)), want, m.Slow, m.free(g.of, n), leaving)
}

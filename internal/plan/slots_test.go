package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"graspd/internal/nostr"
	"graspd/internal/plan"
)

func claim(u plan.URL, owners int, use plan.Use) plan.Claim {
	return plan.Claim{URL: u, Owners: owners, Use: use}
}

func holding(c plan.Claim) plan.Claim { c.Held = true; return c }

func on(account string, c plan.Claim) plan.Claim { c.Account = account; return c }

func host(h string, c plan.Claim) plan.Claim { c.Host = h; return c }

// crowd holds all the slots that a host may have, in those uses and else firmly.
func crowd(h string, uses ...plan.Use) (claims []plan.Claim) {
	for i := range plan.PerHost {
		use := plan.Firm
		if i < len(uses) {
			use = uses[i]
		}
		claims = append(claims, host(h, holding(claim(plan.URL(fmt.Sprint(h, i)), 1, use))))
	}
	return claims
}

func since(c plan.Claim, hours int) plan.Claim {
	c.Last = epoch.Add(time.Duration(hours) * time.Hour)
	return c
}

// A relay is on the account of the owner who alone names it, and on nobody's where others do too, or the operator.
func TestAccount(t *testing.T) {
	f := newFold(t, plan.URL(relay(3)))
	a, b := key(0), key(1)
	f.add(f.announce(a, "x", 10, []string{us, relay(1), relay(2), relay(3)}), f.announce(a, "y", 10, []string{us, relay(1)}),
		f.announce(b, "x", 10, []string{us, relay(2)}))
	f.step()
	for n, want := range map[int]string{1: a.String(), 2: "", 3: ""} {
		if got := f.wants[plan.URL(relay(n))].Account(); got != want {
			t.Errorf("relay %d is on the account of %q, not %q", n, got, want)
		}
	}
	if got := (&plan.Want{}).Account(); got != "" {
		t.Errorf("one that nobody wants is on the account of %q", got)
	}
}

func TestSlots(t *testing.T) {
	for name, c := range map[string]struct {
		claims []plan.Claim
		n      int
		want   string
	}{
		"nobody waits": {[]plan.Claim{holding(claim("a", 1, plan.Unused))}, 1, ""},
		"free slots, most owners first": {
			[]plan.Claim{claim("a", 1, plan.Trying), claim("b", 3, plan.Trying), claim("c", 2, plan.Trying)}, 2, "+b +c"},
		"a dead one may have what nobody else has use for": {
			[]plan.Claim{claim("a", 9, plan.Unused), claim("b", 1, plan.Trying)}, 2, "+b +a"},
		"a dead one goes behind everybody": {
			[]plan.Claim{claim("a", 9, plan.Unused), claim("b", 1, plan.Trying)}, 1, "+b"},
		"firm use": {[]plan.Claim{holding(claim("a", 1, plan.Firm)), claim("b", 9, plan.Trying)}, 1, ""},
		"no use":   {[]plan.Claim{holding(claim("a", 9, plan.Unused)), claim("b", 1, plan.Trying)}, 1, "+b-a"},
		"the least wanted of no use": {
			[]plan.Claim{holding(claim("a", 3, plan.Unused)), holding(claim("b", 2, plan.Unused)), claim("c", 1, plan.Trying)}, 2, "+c-b"},
		"no use to one of no use":    {[]plan.Claim{holding(claim("a", 1, plan.Unused)), claim("b", 9, plan.Unused)}, 1, ""},
		"trying, to one more wanted": {[]plan.Claim{holding(claim("a", 1, plan.Trying)), claim("b", 2, plan.Trying)}, 1, "+b-a"},
		"trying, to one as wanted":   {[]plan.Claim{holding(claim("a", 2, plan.Trying)), claim("b", 2, plan.Trying)}, 1, ""},
		"stuck, to one as wanted":    {[]plan.Claim{holding(claim("a", 2, plan.Stuck)), claim("b", 2, plan.Trying)}, 1, "+b-a"},
		"stuck, to one less wanted":  {[]plan.Claim{holding(claim("a", 2, plan.Stuck)), claim("b", 1, plan.Trying)}, 1, "+b-a"},
		"stuck, to a dead one":       {[]plan.Claim{holding(claim("a", 1, plan.Stuck)), claim("b", 2, plan.Unused)}, 1, ""},
		"no use before stuck":        {[]plan.Claim{holding(claim("a", 1, plan.Stuck)), holding(claim("b", 9, plan.Unused)), claim("c", 3, plan.Trying)}, 2, "+c-b"},
		"in turn":                    {[]plan.Claim{since(claim("a", 1, plan.Trying), 2), since(claim("b", 1, plan.Trying), 1), claim("c", 1, plan.Trying)}, 2, "+c +b"},
		"each slot once":             {[]plan.Claim{holding(claim("a", 1, plan.Unused)), claim("b", 2, plan.Trying), claim("c", 2, plan.Trying)}, 1, "+b-a"},
		"a free one, then another's": {[]plan.Claim{holding(claim("a", 1, plan.Unused)), claim("b", 2, plan.Trying), claim("c", 2, plan.Trying)}, 2, "+b +c-a"},
		"in turn by accounts": {[]plan.Claim{on("x", claim("a", 1, plan.Trying)), on("x", claim("b", 1, plan.Trying)), on("x", claim("c", 1, plan.Trying)),
			on("y", claim("d", 1, plan.Trying)), on("y", claim("e", 1, plan.Trying)), on("z", claim("f", 1, plan.Trying))}, 5, "+a +d +f +b +e"},
		"those whose account has none go first":   {[]plan.Claim{on("x", holding(claim("a", 1, plan.Firm))), on("x", claim("b", 1, plan.Trying)), on("y", claim("c", 1, plan.Trying))}, 2, "+c"},
		"those of several owners have no account": {[]plan.Claim{on("x", claim("a", 1, plan.Trying)), claim("b", 2, plan.Trying), claim("c", 2, plan.Trying)}, 2, "+b +c"},
		"trying, to one whose account has less": {[]plan.Claim{on("x", holding(claim("a", 1, plan.Trying))), on("x", holding(claim("b", 1, plan.Trying))),
			on("y", claim("c", 1, plan.Trying)), on("y", claim("d", 1, plan.Trying))}, 2, "+c-a"},
		"no more than evens the accounts": {[]plan.Claim{on("x", holding(claim("a", 1, plan.Trying))), on("x", holding(claim("b", 1, plan.Trying))),
			on("x", holding(claim("c", 1, plan.Trying))), on("y", claim("d", 1, plan.Trying)), on("y", claim("e", 1, plan.Trying))}, 3, "+d-a"},
		"firm, whatever the account has":   {[]plan.Claim{on("x", holding(claim("a", 1, plan.Firm))), on("x", holding(claim("b", 1, plan.Firm))), on("y", claim("c", 1, plan.Trying))}, 2, ""},
		"more are held than there are":     {[]plan.Claim{holding(claim("a", 1, plan.Firm)), holding(claim("b", 1, plan.Trying)), claim("c", 2, plan.Trying)}, 1, "+c-b"},
		"a host that has enough gets none": {append(crowd("h"), host("h", claim("a", 9, plan.Trying)), host("i", claim("b", 1, plan.Trying))), 9, "+b"},
		"no more of one host, where slots are free": {[]plan.Claim{host("h", claim("a", 1, plan.Trying)), host("h", claim("b", 2, plan.Trying)), host("h", claim("c", 3, plan.Trying)),
			host("h", claim("d", 4, plan.Trying)), host("h", claim("e", 5, plan.Trying)), host("i", claim("f", 1, plan.Trying))}, 9, "+e +d +c +b +f"},
		"any number where there is no host to spare":        {append(crowd(""), claim("a", 1, plan.Trying)), 9, "+a"},
		"a slot of the host goes to another of the host":    {append(crowd("h", plan.Unused), host("h", claim("a", 1, plan.Trying))), 9, "+a-h0"},
		"a slot of another host goes to none of a full one": {append(crowd("h"), host("i", holding(claim("b", 1, plan.Unused))), host("h", claim("a", 1, plan.Trying))), 5, ""},
		"what a host gives to another it may have again": {append(crowd("h", plan.Unused), host("i", claim("b", 2, plan.Trying)), host("h", claim("a", 1, plan.Trying)),
			host("j", holding(claim("c", 1, plan.Unused)))), 5, "+b-c +a-h0"},
		"a host that gave one up has room for one": {append(crowd("h", plan.Unused), host("i", claim("b", 2, plan.Trying)), host("h", claim("a", 1, plan.Trying)),
			host("j", holding(claim("c", 1, plan.Stuck)))), 5, "+b-h0 +a-c"},
	} {
		got := ""
		for i, m := range plan.Slots(c.claims, c.n) {
			if i > 0 {
				got += " "
			}
			got += "+" + string(m.Give)
			if m.Take != "" {
				got += "-" + string(m.Take)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestSlotsOfRandomClaims holds the result against what must be true of it.
func TestSlotsOfRandomClaims(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		n, slots := r.IntN(12), 1+r.IntN(6)
		var claims []plan.Claim
		held := 0
		for i := range n {
			c := plan.Claim{URL: plan.URL(fmt.Sprint("r", i)), Owners: 1 + r.IntN(4), Use: pick(r, plan.Trying, plan.Stuck, plan.Unused)}
			if c.Held = held < slots && r.IntN(2) == 0; c.Held {
				c.Use = pick(r, c.Use, plan.Firm)
				held++
			} else if c.Use == plan.Stuck {
				c.Use = plan.Trying
			}
			claims = append(claims, c)
		}
		moves := plan.Slots(claims, slots)
		r.Shuffle(n, func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		if again := plan.Slots(claims, slots); !slices.Equal(moves, again) {
			t.Fatalf("in another order %v, not %v: %+v", again, moves, claims)
		}
		after := slices.Clone(claims)
		at := func(u plan.URL) *plan.Claim {
			return &after[slices.IndexFunc(after, func(c plan.Claim) bool { return c.URL == u })]
		}
		for _, m := range moves {
			if m.Take != "" {
				if c := at(m.Take); !c.Held || c.Use == plan.Firm {
					t.Fatalf("%v loses its slot: %v of %+v", m.Take, moves, claims)
				}
				at(m.Take).Held = false
			}
			if at(m.Give).Held {
				t.Fatalf("%v gets a second slot: %v of %+v", m.Give, moves, claims)
			}
			at(m.Give).Held = true
		}
		taken := 0
		for _, h := range after {
			if !h.Held {
				continue
			}
			taken++
			for _, w := range after {
				if before := *at(w.URL); !w.Held && !slices.ContainsFunc(moves, func(m plan.Move) bool { return m.Take == w.URL }) &&
					before.Use == plan.Trying && (h.Use == plan.Unused || h.Use == plan.Stuck || h.Use == plan.Trying && h.Owners < w.Owners) {
					t.Fatalf("%v waits and %v has a slot: %v of %+v", w.URL, h.URL, moves, claims)
				}
			}
		}
		if taken > slots || taken < min(n, slots) {
			t.Fatalf("%d of %d slots are taken: %v of %+v", taken, slots, moves, claims)
		}
	}
}

func TestUseOfASlot(t *testing.T) {
	f, w := small(t, 1)
	d := newDriver(t, plan.Config{})
	use := func() plan.Use { d.do(plan.Tick{}); return d.peer.Status().Use() }
	want := func(what string, got, want plan.Use) {
		t.Helper()
		if got != want {
			t.Errorf("%s: use %d, want %d", what, got, want)
		}
	}
	next := func() plan.Use { return d.peer.Record().Use(plan.Config{}, d.clock.Wall) }
	want("unknown", plan.Record{}.Use(plan.Config{}, d.clock.Wall), plan.Trying)
	d.do(plan.Wanted{Want: w})
	want("dialing", use(), plan.Trying)
	d.fails()
	d.fails()
	want("dialing after two failures", use(), plan.Trying)
	d.do(plan.DialFailed{Reason: "refused"})
	want("after three failures", use(), plan.Unused)
	want("after three failures, without a slot", next(), plan.Unused)
	d.pass(d.wait() - 1)
	want("just before the next attempt", next(), plan.Unused)
	d.pass(1)
	want("at the next attempt", use(), plan.Trying)
	want("at the next attempt, without a slot", next(), plan.Trying)
	// It connects, and answers nothing that counts.
	d.refuse = func(plan.Request) nostr.RelayMessage { return nostr.Notice{Text: "hello"} }
	d.negFault = func(plan.OpenNeg) nostr.RelayMessage { return nostr.Notice{Text: "hello"} }
	d.do(plan.Connected{})
	want("connected", use(), plan.Trying)
	d.pass(30*time.Minute - 1)
	want("connected for almost half an hour", use(), plan.Trying)
	d.pass(1)
	want("connected for half an hour", use(), plan.Stuck)
	lost := d.peer.Record().Yielded(plan.Stuck)
	want("stuck and lost its slot", lost.Use(plan.Config{}, d.clock.Wall.Add(30*time.Minute-1)), plan.Unused)
	want("half an hour later", lost.Use(plan.Config{}, d.clock.Wall.Add(30*time.Minute)), plan.Trying)
	want("lost its slot while trying", d.peer.Record().Yielded(plan.Trying).Use(plan.Config{}, d.clock.Wall), plan.Trying)
	d.do(plan.Disconnected{Reason: "reset"})
	d.refuse, d.negFault = nil, nil
	d.pass(d.wait())
	d.do(plan.Connected{})
	want("all is confirmed", use(), plan.Firm)
	d.pass(time.Hour)
	want("for an hour", use(), plan.Firm)
	d.do(plan.Disconnected{Reason: "reset"})
	want("the connection is lost", use(), plan.Trying)

	d = newDriver(t, plan.Config{})
	d.do(plan.Wanted{Want: f.wants[here]})
	d.do(plan.DialFailed{Ourself: true})
	want("ourself", use(), plan.Unused)
	want("ourself, without a slot", next(), plan.Unused)
	d = d.reborn(plan.Config{}, time.Hour, nil)
	d.do(plan.Wanted{Want: f.wants[here]})
	if d.dials() != 0 {
		t.Error("this relay dials itself again")
	}
}

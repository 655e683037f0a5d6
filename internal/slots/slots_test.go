package slots_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/slots"
)

func claim(u slots.URL, owners int, use slots.Use) slots.Claim {
	return slots.Claim{URL: u, Owners: owners, Use: use}
}

func holding(c slots.Claim) slots.Claim { c.HasSlot = true; return c }

func on(account string, c slots.Claim) slots.Claim { c.Party = account; return c }

func mailbox(c slots.Claim) slots.Claim { c.Mailbox = true; return c }

// mailboxes hold all the slots that mailboxes may have, the first in no use and the others while they are asked.
func mailboxes() (claims []slots.Claim) {
	for i := range slots.PerMailbox {
		claims = append(claims, mailbox(holding(claim(slots.URL(fmt.Sprintf("m%02d", i)), 0, slots.Trying))))
	}
	claims[0].Use = slots.Unused
	return claims
}

func host(h string, c slots.Claim) slots.Claim { c.Host = h; return c }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// crowd holds all the slots that a host may have, in those uses and else firmly.
func crowd(h string, uses ...slots.Use) (claims []slots.Claim) {
	for i := range slots.PerHost {
		use := slots.Firm
		if i < len(uses) {
			use = uses[i]
		}
		claims = append(claims, host(h, holding(claim(slots.URL(fmt.Sprint(h, i)), 1, use))))
	}
	return claims
}

func since(c slots.Claim, hours int) slots.Claim {
	c.Last = time.Unix(1_000_000, 0).Add(time.Duration(hours) * time.Hour)
	return c
}

func TestSlots(t *testing.T) {
	for name, c := range map[string]struct {
		claims []slots.Claim
		n      int
		want   string
	}{
		"nobody waits": {[]slots.Claim{holding(claim("a", 1, slots.Unused))}, 1, ""},
		"free slots, most owners first": {
			[]slots.Claim{claim("a", 1, slots.Trying), claim("b", 3, slots.Trying), claim("c", 2, slots.Trying)}, 2, "+b +c"},
		"a dead one may have what nobody else has use for": {
			[]slots.Claim{claim("a", 9, slots.Unused), claim("b", 1, slots.Trying)}, 2, "+b +a"},
		"a dead one goes behind everybody": {
			[]slots.Claim{claim("a", 9, slots.Unused), claim("b", 1, slots.Trying)}, 1, "+b"},
		"firm use": {[]slots.Claim{holding(claim("a", 1, slots.Firm)), claim("b", 9, slots.Trying)}, 1, ""},
		"no use":   {[]slots.Claim{holding(claim("a", 9, slots.Unused)), claim("b", 1, slots.Trying)}, 1, "+b-a"},
		"the least wanted of no use": {
			[]slots.Claim{holding(claim("a", 3, slots.Unused)), holding(claim("b", 2, slots.Unused)), claim("c", 1, slots.Trying)}, 2, "+c-b"},
		"no use to one of no use":    {[]slots.Claim{holding(claim("a", 1, slots.Unused)), claim("b", 9, slots.Unused)}, 1, ""},
		"trying, to one more wanted": {[]slots.Claim{holding(claim("a", 1, slots.Trying)), claim("b", 2, slots.Trying)}, 1, "+b-a"},
		"trying, to one as wanted":   {[]slots.Claim{holding(claim("a", 2, slots.Trying)), claim("b", 2, slots.Trying)}, 1, ""},
		"stuck, to one as wanted":    {[]slots.Claim{holding(claim("a", 2, slots.Stuck)), claim("b", 2, slots.Trying)}, 1, "+b-a"},
		"stuck, to one less wanted":  {[]slots.Claim{holding(claim("a", 2, slots.Stuck)), claim("b", 1, slots.Trying)}, 1, "+b-a"},
		"stuck, to a dead one":       {[]slots.Claim{holding(claim("a", 1, slots.Stuck)), claim("b", 2, slots.Unused)}, 1, ""},
		"no use before stuck":        {[]slots.Claim{holding(claim("a", 1, slots.Stuck)), holding(claim("b", 9, slots.Unused)), claim("c", 3, slots.Trying)}, 2, "+c-b"},
		"in turn":                    {[]slots.Claim{since(claim("a", 1, slots.Trying), 2), since(claim("b", 1, slots.Trying), 1), claim("c", 1, slots.Trying)}, 2, "+c +b"},
		"each slot once":             {[]slots.Claim{holding(claim("a", 1, slots.Unused)), claim("b", 2, slots.Trying), claim("c", 2, slots.Trying)}, 1, "+b-a"},
		"a free one, then another's": {[]slots.Claim{holding(claim("a", 1, slots.Unused)), claim("b", 2, slots.Trying), claim("c", 2, slots.Trying)}, 2, "+b +c-a"},
		"in turn by accounts": {[]slots.Claim{on("x", claim("a", 1, slots.Trying)), on("x", claim("b", 1, slots.Trying)), on("x", claim("c", 1, slots.Trying)),
			on("y", claim("d", 1, slots.Trying)), on("y", claim("e", 1, slots.Trying)), on("z", claim("f", 1, slots.Trying))}, 5, "+a +d +f +b +e"},
		"those whose account has none go first":   {[]slots.Claim{on("x", holding(claim("a", 1, slots.Firm))), on("x", claim("b", 1, slots.Trying)), on("y", claim("c", 1, slots.Trying))}, 2, "+c"},
		"those of several owners have no account": {[]slots.Claim{on("x", claim("a", 1, slots.Trying)), claim("b", 2, slots.Trying), claim("c", 2, slots.Trying)}, 2, "+b +c"},
		"trying, to one whose account has less": {[]slots.Claim{on("x", holding(claim("a", 1, slots.Trying))), on("x", holding(claim("b", 1, slots.Trying))),
			on("y", claim("c", 1, slots.Trying)), on("y", claim("d", 1, slots.Trying))}, 2, "+c-a"},
		"no more than evens the accounts": {[]slots.Claim{on("x", holding(claim("a", 1, slots.Trying))), on("x", holding(claim("b", 1, slots.Trying))),
			on("x", holding(claim("c", 1, slots.Trying))), on("y", claim("d", 1, slots.Trying)), on("y", claim("e", 1, slots.Trying))}, 3, "+d-a"},
		"firm, whatever the account has":   {[]slots.Claim{on("x", holding(claim("a", 1, slots.Firm))), on("x", holding(claim("b", 1, slots.Firm))), on("y", claim("c", 1, slots.Trying))}, 2, ""},
		"more are held than there are":     {[]slots.Claim{holding(claim("a", 1, slots.Firm)), holding(claim("b", 1, slots.Trying)), claim("c", 2, slots.Trying)}, 1, "+c-b"},
		"a host that has enough gets none": {append(crowd("h"), host("h", claim("a", 9, slots.Trying)), host("i", claim("b", 1, slots.Trying))), 9, "+b"},
		"no more of one host, where slots are free": {[]slots.Claim{host("h", claim("a", 1, slots.Trying)), host("h", claim("b", 2, slots.Trying)), host("h", claim("c", 3, slots.Trying)),
			host("h", claim("d", 4, slots.Trying)), host("h", claim("e", 5, slots.Trying)), host("i", claim("f", 1, slots.Trying))}, 9, "+e +d +c +b +f"},
		"any number where there is no host to spare":        {append(crowd(""), claim("a", 1, slots.Trying)), 9, "+a"},
		"a slot of the host goes to another of the host":    {append(crowd("h", slots.Unused), host("h", claim("a", 1, slots.Trying))), 9, "+a-h0"},
		"a slot of another host goes to none of a full one": {append(crowd("h"), host("i", holding(claim("b", 1, slots.Unused))), host("h", claim("a", 1, slots.Trying))), 5, ""},
		"what a host gives to another it may have again": {append(crowd("h", slots.Unused), host("i", claim("b", 2, slots.Trying)), host("h", claim("a", 1, slots.Trying)),
			host("j", holding(claim("c", 1, slots.Unused)))), 5, "+b-c +a-h0"},
		"a host that gave one up has room for one": {append(crowd("h", slots.Unused), host("i", claim("b", 2, slots.Trying)), host("h", claim("a", 1, slots.Trying)),
			host("j", holding(claim("c", 1, slots.Stuck)))), 5, "+b-h0 +a-c"},
		"mailboxes last":                   {[]slots.Claim{mailbox(claim("a", 9, slots.Trying)), claim("b", 1, slots.Trying), claim("c", 1, slots.Unused)}, 3, "+b +c +a"},
		"no mailbox for one in no use":     {[]slots.Claim{holding(claim("a", 1, slots.Unused)), mailbox(claim("b", 9, slots.Trying))}, 1, ""},
		"no mailbox for one that is stuck": {[]slots.Claim{holding(claim("a", 1, slots.Stuck)), mailbox(claim("b", 9, slots.Trying))}, 1, ""},
		"from a mailbox, whatever its use": {[]slots.Claim{mailbox(holding(claim("a", 9, slots.Firm))), holding(claim("b", 1, slots.Unused)), claim("c", 1, slots.Trying)}, 2, "+c-a"},
		"no mailbox for a dead relay":      {[]slots.Claim{mailbox(holding(claim("a", 0, slots.Trying))), claim("b", 9, slots.Unused)}, 1, ""},
		"from mailbox to mailbox":          {[]slots.Claim{mailbox(holding(claim("a", 0, slots.Unused))), mailbox(holding(claim("b", 0, slots.Trying))), mailbox(claim("c", 0, slots.Trying)), mailbox(claim("d", 0, slots.Trying))}, 2, "+c-a"},
		"few mailboxes at once":            {append(mailboxes(), mailbox(claim("x", 0, slots.Trying)), mailbox(claim("y", 0, slots.Trying)), claim("z", 1, slots.Trying)), 99, "+z +x-m00"},
		"a mailbox makes room on its host": {append(crowd("h")[1:], mailbox(host("h", holding(claim("a", 0, slots.Trying)))), host("h", claim("b", 1, slots.Trying))), 9, "+b-a"},
		"no mailbox on a full host":        {append(crowd("h", slots.Unused), mailbox(host("h", claim("a", 0, slots.Trying)))), 9, ""},
		"the mailbox that waited longest":  {[]slots.Claim{mailbox(since(claim("a", 0, slots.Trying), 2)), mailbox(since(claim("b", 0, slots.Trying), 1))}, 1, "+b"},
	} {
		got := ""
		for i, m := range slots.Assign(c.claims, c.n) {
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
		n, places := r.IntN(12), 1+r.IntN(6)
		var claims []slots.Claim
		held := 0
		for i := range n {
			c := slots.Claim{URL: slots.URL(fmt.Sprint("r", i)), Owners: 1 + r.IntN(4), Use: pick(r, slots.Trying, slots.Stuck, slots.Unused)}
			if c.HasSlot = held < places && r.IntN(2) == 0; c.HasSlot {
				c.Use = pick(r, c.Use, slots.Firm)
				held++
			} else if c.Use == slots.Stuck {
				c.Use = slots.Trying
			}
			c.Mailbox = r.IntN(3) == 0
			claims = append(claims, c)
		}
		moves := slots.Assign(claims, places)
		r.Shuffle(n, func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		if again := slots.Assign(claims, places); !slices.Equal(moves, again) {
			t.Fatalf("in another order %v, not %v: %+v", again, moves, claims)
		}
		after := slices.Clone(claims)
		at := func(u slots.URL) *slots.Claim {
			return &after[slices.IndexFunc(after, func(c slots.Claim) bool { return c.URL == u })]
		}
		for _, m := range moves {
			if m.Take != "" {
				if c, to := at(m.Take), at(m.Give); !c.HasSlot || c.Use == slots.Firm && !c.Mailbox || to.Mailbox && !c.Mailbox {
					t.Fatalf("%v loses its slot: %v of %+v", m.Take, moves, claims)
				}
				at(m.Take).HasSlot = false
			}
			if at(m.Give).HasSlot {
				t.Fatalf("%v gets a second slot: %v of %+v", m.Give, moves, claims)
			}
			at(m.Give).HasSlot = true
		}
		taken := 0
		for _, h := range after {
			if !h.HasSlot {
				continue
			}
			taken++
			for _, w := range after {
				if before := *at(w.URL); !w.HasSlot && !slices.ContainsFunc(moves, func(m slots.Move) bool { return m.Take == w.URL }) &&
					before.Use == slots.Trying && (h.Mailbox && !w.Mailbox || h.Mailbox == w.Mailbox && (h.Use == slots.Unused || h.Use == slots.Stuck || h.Use == slots.Trying && h.Owners < w.Owners)) {
					t.Fatalf("%v waits and %v has a slot: %v of %+v", w.URL, h.URL, moves, claims)
				}
			}
		}
		if taken > places || taken < min(n, places) {
			t.Fatalf("%d of %d places are taken: %v of %+v", taken, places, moves, claims)
		}
	}
}

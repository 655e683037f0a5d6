package slots_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/slots"
)

func candidate(u slots.URL, owners int, use slots.Use) slots.Candidate {
	return slots.Candidate{URL: u, Owners: owners, Use: use}
}

func holding(c slots.Candidate) slots.Candidate { c.HasSlot = true; return c }

func on(account string, c slots.Candidate) slots.Candidate { c.Party = account; return c }

func mailbox(c slots.Candidate) slots.Candidate { c.Mailbox = true; return c }

// mailboxes hold all the slots that mailboxes may have, the first in no use and the others while they are asked.
func mailboxes() (all []slots.Candidate) {
	for i := range slots.PerMailbox {
		all = append(all, mailbox(holding(candidate(slots.URL(fmt.Sprintf("m%02d", i)), 0, slots.Trying))))
	}
	all[0].Use = slots.Unused
	return all
}

func host(h string, c slots.Candidate) slots.Candidate { c.Host = h; return c }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// crowd holds all the slots that a host may have, in those uses and else firmly.
func crowd(h string, uses ...slots.Use) (all []slots.Candidate) {
	for i := range slots.PerHost {
		use := slots.Firm
		if i < len(uses) {
			use = uses[i]
		}
		all = append(all, host(h, holding(candidate(slots.URL(fmt.Sprint(h, i)), 1, use))))
	}
	return all
}

func since(c slots.Candidate, hours int) slots.Candidate {
	c.Last = time.Unix(1_000_000, 0).Add(time.Duration(hours) * time.Hour)
	return c
}

func TestSlots(t *testing.T) {
	for name, c := range map[string]struct {
		all  []slots.Candidate
		n    int
		want string
	}{
		"nobody waits": {[]slots.Candidate{holding(candidate("a", 1, slots.Unused))}, 1, ""},
		"free slots, most owners first": {
			[]slots.Candidate{candidate("a", 1, slots.Trying), candidate("b", 3, slots.Trying), candidate("c", 2, slots.Trying)}, 2, "+b +c"},
		"a dead one may have what nobody else has use for": {
			[]slots.Candidate{candidate("a", 9, slots.Unused), candidate("b", 1, slots.Trying)}, 2, "+b +a"},
		"a dead one goes behind everybody": {
			[]slots.Candidate{candidate("a", 9, slots.Unused), candidate("b", 1, slots.Trying)}, 1, "+b"},
		"firm use": {[]slots.Candidate{holding(candidate("a", 1, slots.Firm)), candidate("b", 9, slots.Trying)}, 1, ""},
		"no use":   {[]slots.Candidate{holding(candidate("a", 9, slots.Unused)), candidate("b", 1, slots.Trying)}, 1, "+b-a"},
		"the least wanted of no use": {
			[]slots.Candidate{holding(candidate("a", 3, slots.Unused)), holding(candidate("b", 2, slots.Unused)), candidate("c", 1, slots.Trying)}, 2, "+c-b"},
		"no use to one of no use":    {[]slots.Candidate{holding(candidate("a", 1, slots.Unused)), candidate("b", 9, slots.Unused)}, 1, ""},
		"trying, to one more wanted": {[]slots.Candidate{holding(candidate("a", 1, slots.Trying)), candidate("b", 2, slots.Trying)}, 1, "+b-a"},
		"trying, to one as wanted":   {[]slots.Candidate{holding(candidate("a", 2, slots.Trying)), candidate("b", 2, slots.Trying)}, 1, ""},
		"stuck, to one as wanted":    {[]slots.Candidate{holding(candidate("a", 2, slots.Stuck)), candidate("b", 2, slots.Trying)}, 1, "+b-a"},
		"stuck, to one less wanted":  {[]slots.Candidate{holding(candidate("a", 2, slots.Stuck)), candidate("b", 1, slots.Trying)}, 1, "+b-a"},
		"stuck, to a dead one":       {[]slots.Candidate{holding(candidate("a", 1, slots.Stuck)), candidate("b", 2, slots.Unused)}, 1, ""},
		"no use before stuck":        {[]slots.Candidate{holding(candidate("a", 1, slots.Stuck)), holding(candidate("b", 9, slots.Unused)), candidate("c", 3, slots.Trying)}, 2, "+c-b"},
		"in turn":                    {[]slots.Candidate{since(candidate("a", 1, slots.Trying), 2), since(candidate("b", 1, slots.Trying), 1), candidate("c", 1, slots.Trying)}, 2, "+c +b"},
		"each slot once":             {[]slots.Candidate{holding(candidate("a", 1, slots.Unused)), candidate("b", 2, slots.Trying), candidate("c", 2, slots.Trying)}, 1, "+b-a"},
		"a free one, then another's": {[]slots.Candidate{holding(candidate("a", 1, slots.Unused)), candidate("b", 2, slots.Trying), candidate("c", 2, slots.Trying)}, 2, "+b +c-a"},
		"in turn by accounts": {[]slots.Candidate{on("x", candidate("a", 1, slots.Trying)), on("x", candidate("b", 1, slots.Trying)), on("x", candidate("c", 1, slots.Trying)),
			on("y", candidate("d", 1, slots.Trying)), on("y", candidate("e", 1, slots.Trying)), on("z", candidate("f", 1, slots.Trying))}, 5, "+a +d +f +b +e"},
		"those whose account has none go first":   {[]slots.Candidate{on("x", holding(candidate("a", 1, slots.Firm))), on("x", candidate("b", 1, slots.Trying)), on("y", candidate("c", 1, slots.Trying))}, 2, "+c"},
		"those of several owners have no account": {[]slots.Candidate{on("x", candidate("a", 1, slots.Trying)), candidate("b", 2, slots.Trying), candidate("c", 2, slots.Trying)}, 2, "+b +c"},
		"trying, to one whose account has less": {[]slots.Candidate{on("x", holding(candidate("a", 1, slots.Trying))), on("x", holding(candidate("b", 1, slots.Trying))),
			on("y", candidate("c", 1, slots.Trying)), on("y", candidate("d", 1, slots.Trying))}, 2, "+c-a"},
		"no more than evens the accounts": {[]slots.Candidate{on("x", holding(candidate("a", 1, slots.Trying))), on("x", holding(candidate("b", 1, slots.Trying))),
			on("x", holding(candidate("c", 1, slots.Trying))), on("y", candidate("d", 1, slots.Trying)), on("y", candidate("e", 1, slots.Trying))}, 3, "+d-a"},
		"firm, whatever the account has":   {[]slots.Candidate{on("x", holding(candidate("a", 1, slots.Firm))), on("x", holding(candidate("b", 1, slots.Firm))), on("y", candidate("c", 1, slots.Trying))}, 2, ""},
		"more are held than there are":     {[]slots.Candidate{holding(candidate("a", 1, slots.Firm)), holding(candidate("b", 1, slots.Trying)), candidate("c", 2, slots.Trying)}, 1, "+c-b"},
		"a host that has enough gets none": {append(crowd("h"), host("h", candidate("a", 9, slots.Trying)), host("i", candidate("b", 1, slots.Trying))), 9, "+b"},
		"no more of one host, where slots are free": {[]slots.Candidate{host("h", candidate("a", 1, slots.Trying)), host("h", candidate("b", 2, slots.Trying)), host("h", candidate("c", 3, slots.Trying)),
			host("h", candidate("d", 4, slots.Trying)), host("h", candidate("e", 5, slots.Trying)), host("i", candidate("f", 1, slots.Trying))}, 9, "+e +d +c +b +f"},
		"any number where there is no host to spare":        {append(crowd(""), candidate("a", 1, slots.Trying)), 9, "+a"},
		"a slot of the host goes to another of the host":    {append(crowd("h", slots.Unused), host("h", candidate("a", 1, slots.Trying))), 9, "+a-h0"},
		"a slot of another host goes to none of a full one": {append(crowd("h"), host("i", holding(candidate("b", 1, slots.Unused))), host("h", candidate("a", 1, slots.Trying))), 5, ""},
		"what a host gives to another it may have again": {append(crowd("h", slots.Unused), host("i", candidate("b", 2, slots.Trying)), host("h", candidate("a", 1, slots.Trying)),
			host("j", holding(candidate("c", 1, slots.Unused)))), 5, "+b-c +a-h0"},
		"a host that gave one up has room for one": {append(crowd("h", slots.Unused), host("i", candidate("b", 2, slots.Trying)), host("h", candidate("a", 1, slots.Trying)),
			host("j", holding(candidate("c", 1, slots.Stuck)))), 5, "+b-h0 +a-c"},
		"mailboxes last":                   {[]slots.Candidate{mailbox(candidate("a", 9, slots.Trying)), candidate("b", 1, slots.Trying), candidate("c", 1, slots.Unused)}, 3, "+b +c +a"},
		"no mailbox for one in no use":     {[]slots.Candidate{holding(candidate("a", 1, slots.Unused)), mailbox(candidate("b", 9, slots.Trying))}, 1, ""},
		"no mailbox for one that is stuck": {[]slots.Candidate{holding(candidate("a", 1, slots.Stuck)), mailbox(candidate("b", 9, slots.Trying))}, 1, ""},
		"from a mailbox, whatever its use": {[]slots.Candidate{mailbox(holding(candidate("a", 9, slots.Firm))), holding(candidate("b", 1, slots.Unused)), candidate("c", 1, slots.Trying)}, 2, "+c-a"},
		"no mailbox for a dead relay":      {[]slots.Candidate{mailbox(holding(candidate("a", 0, slots.Trying))), candidate("b", 9, slots.Unused)}, 1, ""},
		"from mailbox to mailbox":          {[]slots.Candidate{mailbox(holding(candidate("a", 0, slots.Unused))), mailbox(holding(candidate("b", 0, slots.Trying))), mailbox(candidate("c", 0, slots.Trying)), mailbox(candidate("d", 0, slots.Trying))}, 2, "+c-a"},
		"few mailboxes at once":            {append(mailboxes(), mailbox(candidate("x", 0, slots.Trying)), mailbox(candidate("y", 0, slots.Trying)), candidate("z", 1, slots.Trying)), 99, "+z +x-m00"},
		"a mailbox makes room on its host": {append(crowd("h")[1:], mailbox(host("h", holding(candidate("a", 0, slots.Trying)))), host("h", candidate("b", 1, slots.Trying))), 9, "+b-a"},
		"no mailbox on a full host":        {append(crowd("h", slots.Unused), mailbox(host("h", candidate("a", 0, slots.Trying)))), 9, ""},
		"the mailbox that waited longest":  {[]slots.Candidate{mailbox(since(candidate("a", 0, slots.Trying), 2)), mailbox(since(candidate("b", 0, slots.Trying), 1))}, 1, "+b"},
	} {
		got := ""
		for i, m := range slots.Assign(c.all, c.n) {
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

// TestSlotsOfRandomCandidates holds the result against what must be true of it.
func TestSlotsOfRandomCandidates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		n, places := r.IntN(12), 1+r.IntN(6)
		var all []slots.Candidate
		held := 0
		for i := range n {
			c := slots.Candidate{URL: slots.URL(fmt.Sprint("r", i)), Owners: 1 + r.IntN(4), Use: pick(r, slots.Trying, slots.Stuck, slots.Unused)}
			if c.HasSlot = held < places && r.IntN(2) == 0; c.HasSlot {
				c.Use = pick(r, c.Use, slots.Firm)
				held++
			} else if c.Use == slots.Stuck {
				c.Use = slots.Trying
			}
			c.Mailbox = r.IntN(3) == 0
			all = append(all, c)
		}
		moves := slots.Assign(all, places)
		r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		if again := slots.Assign(all, places); !slices.Equal(moves, again) {
			t.Fatalf("in another order %v, not %v: %+v", again, moves, all)
		}
		after := slices.Clone(all)
		at := func(u slots.URL) *slots.Candidate {
			return &after[slices.IndexFunc(after, func(c slots.Candidate) bool { return c.URL == u })]
		}
		for _, m := range moves {
			if m.Take != "" {
				if c, to := at(m.Take), at(m.Give); !c.HasSlot || c.Use == slots.Firm && !c.Mailbox || to.Mailbox && !c.Mailbox {
					t.Fatalf("%v loses its slot: %v of %+v", m.Take, moves, all)
				}
				at(m.Take).HasSlot = false
			}
			if at(m.Give).HasSlot {
				t.Fatalf("%v gets a second slot: %v of %+v", m.Give, moves, all)
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
					t.Fatalf("%v waits and %v has a slot: %v of %+v", w.URL, h.URL, moves, all)
				}
			}
		}
		if taken > places || taken < min(n, places) {
			t.Fatalf("%d of %d places are taken: %v of %+v", taken, places, moves, all)
		}
	}
}

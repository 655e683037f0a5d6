package paging

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// shelf is a relay as a pager sees it: a set of dated events and a habit.
type shelf struct {
	events    []dated
	limit     int // events per page
	habit     func(page int, matching []dated, limit int) []dated
	pages     int
	exclusive Span // seconds that the relay takes from the ends
	// late appear after the page of that number.
	late map[int][]dated
}

type dated struct {
	id nostr.ID
	at int64
}

func at(n uint64, t int64) dated {
	var id nostr.ID
	binary.BigEndian.PutUint64(id[:], n)
	return dated{id, t}
}

func (s *shelf) answer(q Span) []dated {
	if q.Since > First {
		q.Since += s.exclusive.Since
	}
	if q.Until < Forever {
		q.Until -= s.exclusive.Until
	}
	var m []dated
	for _, e := range s.events {
		if e.at >= q.Since && e.at <= q.Until {
			m = append(m, e)
		}
	}
	out := s.habit(s.pages, m, s.limit)
	if late := s.late[s.pages]; len(late) > 0 {
		s.put(late...)
	}
	s.pages++
	return out
}

// put adds events; they are kept newest first.
func (s *shelf) put(events ...dated) {
	s.events = append(s.events, events...)
	slices.SortStableFunc(s.events, func(a, b dated) int { return cmp.Compare(b.at, a.at) })
}

func newestFirst(_ int, m []dated, limit int) []dated { return m[:min(limit, len(m))] }

func oldestFirst(_ int, m []dated, limit int) []dated {
	out := slices.Clone(m[len(m)-min(limit, len(m)):])
	slices.Reverse(out)
	return out
}

// moody answers now one way and now the other, in any order and with repeats.
func moody(r *rand.Rand) func(int, []dated, int) []dated {
	return func(page int, m []dated, limit int) []dated {
		habit := newestFirst
		if r.IntN(2) == 0 {
			habit = oldestFirst
		}
		out := slices.Clone(habit(page, m, limit))
		if len(out) > 0 {
			out = append(out, out[r.IntN(len(out))])
		}
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out
	}
}

// quarter returns the whole limit once in a while only.
func quarter(page int, m []dated, limit int) []dated {
	if page%3 != 0 {
		limit = max(min(8, limit), limit/4)
	}
	return newestFirst(page, m, limit)
}

// read pages through the shelf and returns what came.
func read(t *testing.T, s *shelf, q Span, most int) (*Pager, map[nostr.ID]bool) {
	t.Helper()
	return readBy(t, s, &Habits{}, q, most)
}

// readBy reads a relay that has shown habits.
func readBy(t *testing.T, s *shelf, h *Habits, q Span, most int) (*Pager, map[nostr.ID]bool) {
	t.Helper()
	s.put()
	p := New(q, h)
	got := make(map[nostr.ID]bool)
	for {
		ask, ok := p.Next()
		if !ok {
			return p, got
		}
		if s.pages >= most {
			t.Fatalf("more than %d pages for %d events, limit %d", most, len(s.events), s.limit)
		}
		if ask.Since < q.Since-1 || ask.Until > q.Until || ask.Since > ask.Until {
			t.Fatalf("asked %v of %v", ask, q)
		}
		for _, e := range s.answer(ask) {
			got[e.id] = true
			p.Received(e.id, e.at)
		}
		p.Done(500)
	}
}

// mayHide says that an event shares its second with more others than a page
// holds: a relay that cuts there never shows them all.
func (s *shelf) mayHide(e dated, smallest int) bool {
	n := 0
	for _, x := range s.events {
		if x.at == e.at {
			n++
		}
	}
	return n > smallest
}

func TestPagerReceivesAll(t *testing.T) {
	habits := map[string]func(*rand.Rand) func(int, []dated, int) []dated{
		"newest first": func(*rand.Rand) func(int, []dated, int) []dated { return newestFirst },
		"oldest first": func(*rand.Rand) func(int, []dated, int) []dated { return oldestFirst },
		"a quarter":    func(*rand.Rand) func(int, []dated, int) []dated { return quarter },
		"any order":    moody,
	}
	for name, habit := range habits {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				r := rand.New(rand.NewPCG(seed, 66))
				n, seconds := r.IntN(300), 1+r.Int64N(400)
				if name == "a quarter" { // pages of two sizes, and seconds that either holds
					seconds += int64(n)
				}
				s := &shelf{limit: 1 + r.IntN(500>>r.IntN(9)), late: map[int][]dated{}}
				for i := range n {
					s.events = append(s.events, at(uint64(i), r.Int64N(seconds)))
				}
				for i := range r.IntN(10) { // appear while paging, all newer than the rest
					page := r.IntN(6)
					s.late[page] = append(s.late[page], at(uint64(1000+i), seconds+r.Int64N(20)))
				}
				s.habit = habit(r)
				q := Span{0, Forever}
				if r.IntN(3) == 0 {
					q.Since = r.Int64N(seconds)
				}
				smallest := s.limit
				if name == "a quarter" {
					smallest = max(min(8, s.limit), s.limit/4)
				}
				before := slices.Clone(s.events)
				_, got := read(t, s, q, 40+8*(n+10))
				for _, e := range before {
					if e.at >= q.Since && !got[e.id] && !s.mayHide(e, smallest) {
						t.Fatalf("seed %d: %d events, limit %d: event at %d of %d missed", seed, n, s.limit, e.at, seconds)
					}
				}
			}
		})
	}
}

// everything is a habit that takes no notice of the limit: shuffled, or in order.
func everything(r *rand.Rand, in func(int, []dated, int) []dated) func(int, []dated, int) []dated {
	return func(page int, m []dated, _ int) []dated {
		out := slices.Clone(in(page, m, len(m)))
		if r.IntN(3) == 0 {
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
}

// TestPagerCutsPages: where the reading of a page is broken off, the rest is asked for, whatever the order was.
func TestPagerCutsPages(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 8))
		n, most, seconds := r.IntN(400), 2+r.IntN(50), pick2[int64](r, 2000, 40)
		s := &shelf{habit: everything(r, pick2(r, newestFirst, oldestFirst))}
		for i := range n {
			s.events = append(s.events, at(uint64(i), r.Int64N(seconds)))
		}
		s.put()
		p, got := New(Span{0, Forever}, &Habits{}), make(map[nostr.ID]bool)
		for {
			ask, ok := p.Next()
			if !ok {
				break
			}
			if s.pages > 30+10*n {
				t.Fatalf("seed %d: more than %d pages for %d events, %d at a time", seed, s.pages, n, most)
			}
			page := s.answer(ask)
			for _, e := range page[:min(most, len(page))] {
				got[e.id] = true
				p.Received(e.id, e.at)
			}
			switch {
			case len(page) < most:
				p.Done(500)
			case p.Cut(true) && r.IntN(2) == 0:
				p.Forget()
			}
		}
		for _, e := range s.events {
			if !got[e.id] && !s.mayHide(e, most-1) {
				t.Fatalf("seed %d: %d events, %d at a time: the one at %d is missed", seed, n, most, e.at)
			}
		}
		if hidden := len(got) < n; hidden && !p.unproven {
			t.Fatalf("seed %d: %d of %d events, and no gap is told", seed, len(got), n)
		}
	}
}

func pick2[T any](r *rand.Rand, a, b T) T {
	if r.IntN(2) == 0 {
		return a
	}
	return b
}

// TestPagerForgetsWhatItSaw, in time: what it knows of a long history is bounded.
func TestPagerForgetsWhatItSaw(t *testing.T) {
	p := New(Span{0, Forever}, &Habits{})
	for n := uint64(0); n < 4*MostSeen; {
		ask, ok := p.Next()
		if !ok {
			t.Fatal("ended")
		}
		until := min(ask.Until, 1<<40)
		for k := range int64(500) {
			n++
			e := at(n, until-k)
			p.Received(e.id, e.at)
		}
		p.Done(500)
		if len(p.seen) > MostSeen+500 {
			t.Fatalf("%d ids are known after %d", len(p.seen), n)
		}
	}
}

// TestPagerCost: pages of an honest relay cost about as many questions as its events need, and those that follow know how large they are.
func TestPagerCost(t *testing.T) {
	for _, c := range []struct {
		events, limit, most, sent int
	}{
		{0, 500, 1, 0}, {1, 500, 4, 2}, {2, 500, 5, 5}, {300, 500, 5, 602}, {500, 500, 5, 1002}, {5000, 500, 18, 6100}, {5000, 50, 150, 5500}, {5000, 20, 400, 6000},
	} {
		t.Run(fmt.Sprint(c.events, " by ", c.limit), func(t *testing.T) {
			s := &shelf{limit: c.limit, habit: newestFirst}
			for i := range c.events {
				s.events = append(s.events, at(uint64(i), int64(1000+10*i)))
			}
			sent := 0
			s.habit = func(page int, m []dated, limit int) []dated {
				out := newestFirst(page, m, limit)
				sent += len(out)
				return out
			}
			if _, got := read(t, s, Span{0, Forever}, c.most); len(got) != c.events || sent > c.sent {
				t.Errorf("received %d of %d, sent were %d", len(got), c.events, sent)
			}
		})
	}
}

// TestPagerKnowsWhatARelayGives at once: where it has given more before, an answer is complete, and two questions are enough.
func TestPagerKnowsWhatARelayGives(t *testing.T) {
	s, h := &shelf{limit: 500, habit: newestFirst}, &Habits{limit: 500, most: 400}
	for i := range 300 {
		s.events = append(s.events, at(uint64(i), int64(1000+10*i)))
	}
	if p, got := readBy(t, s, h, Span{0, Forever}, 2); len(got) != 300 || p.Unproven() {
		t.Errorf("received %d, unproven: %v", len(got), p.Unproven())
	}
}

// anyOf answers with any of what matches.
func anyOf(r *rand.Rand) func(int, []dated, int) []dated {
	return func(_ int, m []dated, limit int) []dated {
		out := slices.Clone(m)
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out[:min(limit, len(out))]
	}
}

// firstCome answers with what came first, whatever its date: ids tell that order.
func firstCome(_ int, m []dated, limit int) []dated {
	out := slices.Clone(m)
	slices.SortFunc(out, func(a, b dated) int { return a.id.Compare(b.id) })
	return out[:min(limit, len(out))]
}

// tidy shows what another habit has chosen newest first, so that its order tells nothing.
func tidy(habit func(int, []dated, int) []dated) func(int, []dated, int) []dated {
	return func(page int, m []dated, limit int) []dated {
		out := habit(page, m, limit)
		slices.SortFunc(out, func(a, b dated) int { return cmp.Compare(b.at, a.at) })
		return out
	}
}

// piles answers pile by pile, newest first within each, as a relay does that looks at one kind or value after the other.
func piles(_ int, m []dated, limit int) []dated {
	out := slices.Clone(m)
	slices.SortStableFunc(out, func(a, b dated) int { return cmp.Compare(key64(b.id)%7/6, key64(a.id)%7/6) })
	slices.Reverse(out)
	return out[:min(limit, len(out))]
}

// TestPagerProvesWhatItReads, whichever of the events that match a relay puts into a page.
func TestPagerProvesWhatItReads(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for name, habit := range map[string]func(int, []dated, int) []dated{
		"newest first": newestFirst, "oldest first": oldestFirst, "what came first": firstCome, "any": anyOf(r), "pile by pile": piles,
		"what came first, in order": tidy(firstCome), "any, in order": tidy(anyOf(r)), "pile by pile, in order": tidy(piles),
	} {
		t.Run(name, func(t *testing.T) {
			for range 40 {
				s := &shelf{limit: 50, habit: habit}
				for i := range 601 {
					s.events = append(s.events, at(uint64(i), 1_700_000_000+int64(r.ExpFloat64()*pick2(r, 1e7, 1e4))))
				}
				if p, got := read(t, s, Span{0, Forever}, 100); len(got) != 601 || p.Unproven() {
					t.Fatalf("received %d of 601, unproven: %v", len(got), p.Unproven())
				}
			}
		})
	}
}

// TestPagerFindsThatEndsAreExclusive, one or both.
func TestPagerFindsThatEndsAreExclusive(t *testing.T) {
	for _, ends := range []Span{{1, 0}, {0, 1}, {1, 1}} {
		r := rand.New(rand.NewPCG(8, 8))
		for n := 1; n < 700; n += 1 + n/2 {
			s := &shelf{limit: 50, habit: newestFirst, exclusive: ends}
			for i := range n {
				s.events = append(s.events, at(uint64(i), 1_700_000_000+r.Int64N(pick2[int64](r, 1e7, 3000))))
			}
			if p, got := read(t, s, Span{0, Forever}, 60); len(got) != n || p.Unproven() {
				t.Fatalf("ends %v: received %d of %d, unproven: %v", ends, len(got), n, p.Unproven())
			}
		}
	}
}

// TestPagersFindTogetherThatEndsAreExclusive: of two that read from one relay in turns, the one finds it out while an answer to the other lacks an event.
func TestPagersFindTogetherThatEndsAreExclusive(t *testing.T) {
	for _, ends := range []Span{{1, 0}, {0, 1}, {1, 1}} {
		for n := 3; n < 9; n++ {
			for late := range 3 { // turns by which the second begins later
				h := &Habits{}
				one, other := evenly(n, ends), evenly(n-1, ends)
				p, q := New(Span{0, Forever}, h), New(Span{0, Forever}, h)
				for turn := 0; !p.Ended() || !q.Ended(); turn++ {
					first := ask(p, one)
					if turn >= late {
						ask(q, other)()
					}
					first()
				}
				if p.known != n || q.known != n-1 || p.Unproven() || q.Unproven() {
					t.Errorf("ends %v, %d turns later: received %d of %d and %d of %d, unproven: %v, %v", ends, late, p.known, n, q.known, n-1, p.Unproven(), q.Unproven())
				}
			}
		}
	}
}

// evenly is a relay with n events that takes so many seconds from the ends.
func evenly(n int, exclusive Span) *shelf {
	s := &shelf{limit: 50, habit: newestFirst, exclusive: exclusive}
	for i := range n {
		s.put(at(uint64(i), int64(1000+100*i)))
	}
	return s
}

// ask has a pager ask, and returns what has it take the answer.
func ask(p *Pager, s *shelf) (answered func()) {
	q, ok := p.Next()
	if !ok {
		return func() {}
	}
	return func() {
		for _, e := range s.answer(q) {
			p.Received(e.id, e.at)
		}
		p.Done(500)
	}
}

// TestPagerFindsThatEndsAreExclusiveInAnyPage: the relay cuts its pages anywhere, and its events are dense, so that answers are full again and
// again before one shows that an end is missing.
func TestPagerFindsThatEndsAreExclusiveInAnyPage(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	doubts := 0
	for name, habit := range map[string]func(int, []dated, int) []dated{"any": anyOf(r), "moody": moody(r), "what came first": firstCome, "pile by pile": piles} {
		for _, ends := range []Span{{1, 0}, {0, 1}, {1, 1}} {
			for range 10 {
				dense, burst := &shelf{limit: 50, habit: habit, exclusive: ends}, &shelf{limit: 50, habit: habit, exclusive: ends}
				for i := range 601 {
					dense.events = append(dense.events, at(uint64(i*7919%10007), 1_700_000_000+r.Int64N(1200)))
					burst.events = append(burst.events, at(uint64(i*7919%10007), 1_700_000_000+int64(i/45)*100_000+r.Int64N(4)))
				}
				for _, s := range []*shelf{dense, burst} {
					p, got := read(t, s, Span{0, Forever}, 800)
					if len(got) != 601 {
						t.Fatalf("%s, ends %v: received %d of 601", name, ends, len(got))
					}
					if p.Unproven() {
						doubts++
					}
				}
			}
		}
	}
	if doubts > 24 {
		t.Errorf("%d of 240 are in doubt, where all came", doubts)
	}
}

// TestPagerDoesNotProveWhatComesNowAndThen: a relay that answers the same question now so and now so is not taken at its word.
func TestPagerDoesNotProveWhatComesNowAndThen(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	s := &shelf{limit: 500, habit: func(_ int, m []dated, _ int) []dated {
		return slices.DeleteFunc(slices.Clone(m), func(dated) bool { return r.IntN(10) == 0 })
	}}
	for i := range 300 {
		s.events = append(s.events, at(uint64(i), 1_700_000_000+int64(100*i)))
	}
	if p, got := read(t, s, Span{0, Forever}, 100); !p.Unproven() {
		t.Errorf("received %d of 300, and all is proven", len(got))
	}
}

// TestPagerBearsThatAnEventGoes while it reads.
func TestPagerBearsThatAnEventGoes(t *testing.T) {
	s := &shelf{limit: 500}
	for i := range 300 {
		s.events = append(s.events, at(uint64(i), 1_700_000_000+int64(100*i)))
	}
	s.habit = func(page int, m []dated, limit int) []dated {
		if page == 0 {
			s.events = slices.DeleteFunc(slices.Clone(s.events), func(e dated) bool { return e.at == 1_700_010_000 || e.at == 1_700_000_100 })
		}
		return newestFirst(page, m, limit)
	}
	if p, got := read(t, s, Span{0, Forever}, 10); len(got) != 300 || p.Unproven() {
		t.Errorf("received %d, unproven: %v", len(got), p.Unproven())
	}
}

func TestPagerFullSecond(t *testing.T) {
	s := &shelf{limit: 50, habit: newestFirst}
	for i := range 120 {
		s.events = append(s.events, at(uint64(i), 1000))
	}
	s.events = append(s.events, at(200, 900), at(201, 1100))
	p, got := read(t, s, Span{0, Forever}, 20)
	if len(got) != 52 || !got[at(200, 0).id] || !got[at(201, 0).id] {
		t.Errorf("received %d", len(got))
	}
	if !p.unproven {
		t.Error("a full page of one second was not told")
	}
}

func TestPagerTellsNoGapOfShortSecond(t *testing.T) {
	s := &shelf{limit: 100, habit: newestFirst}
	for i := range 300 {
		s.events = append(s.events, at(uint64(i), int64(i/30)))
	}
	if p, got := read(t, s, Span{0, Forever}, 40); p.unproven || len(got) != 300 {
		t.Errorf("gap %v, received %d", p.unproven, len(got))
	}
}

func TestPagerAtTheEdgesOfTime(t *testing.T) {
	s := &shelf{limit: 2, habit: newestFirst, events: []dated{at(1, 0), at(2, 0), at(3, 1), at(4, Forever), at(5, Forever-1)}}
	if _, got := read(t, s, Span{0, Forever}, 40); len(got) != 5 {
		t.Errorf("received %d of 5", len(got))
	}
}

func TestPagerAskedAgain(t *testing.T) {
	s := &shelf{limit: 10, habit: newestFirst}
	for i := range 35 {
		s.events = append(s.events, at(uint64(i), int64(i/3)))
	}
	s.put()
	p := New(Span{0, Forever}, &Habits{})
	got := make(map[nostr.ID]bool)
	for n := 0; ; n++ {
		ask, ok := p.Next()
		if !ok {
			break
		}
		for i, e := range s.answer(ask) {
			p.Received(e.id, e.at)
			if n%2 == 0 && i == 7 {
				break
			}
			if n%2 == 1 {
				got[e.id] = true
			}
		}
		if n%2 == 0 { // the answer broke off
			p.Again()
			continue
		}
		p.Done(500)
	}
	if len(got) != 35 {
		t.Errorf("received %d of 35", len(got))
	}
}

func TestPagerGivesUp(t *testing.T) {
	p := New(Span{0, Forever}, &Habits{})
	r := rand.New(rand.NewPCG(1, 1))
	for n := uint64(0); ; n++ {
		ask, ok := p.Next()
		if !ok {
			break
		}
		if n > MaxPages {
			t.Fatal("goes on for ever with a relay that invents history")
		}
		e := at(r.Uint64(), ask.Since+r.Int64N(1<<40))
		p.Received(e.id, e.at)
		p.Done(500)
	}
	if !p.Exhausted() {
		t.Error("ended without a word")
	}
}

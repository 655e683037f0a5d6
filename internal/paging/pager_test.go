package paging

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/nostr"
)

// shelf is a relay as a pager sees it: a set of dated events and a habit.
type shelf struct {
	events []dated
	limit  int // events per page
	habit  func(page int, matching []dated, limit int) []dated
	pages  int
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
		limit = max(1, limit/4)
	}
	return newestFirst(page, m, limit)
}

// read pages through the shelf and returns what came.
func read(t *testing.T, s *shelf, q Span, most int) (*Pager, map[nostr.ID]bool) {
	t.Helper()
	s.put()
	p := New(q)
	got := make(map[nostr.ID]bool)
	for {
		ask, ok := p.Next()
		if !ok {
			return p, got
		}
		if s.pages >= most {
			t.Fatalf("more than %d pages for %d events, limit %d", most, len(s.events), s.limit)
		}
		if ask.Since < q.Since || ask.Until > q.Until || ask.Since > ask.Until {
			t.Fatalf("asked %v of %v", ask, q)
		}
		for _, e := range s.answer(ask) {
			got[e.id] = true
			p.Received(e.id, e.at)
		}
		p.Done()
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
					smallest = max(1, s.limit/4)
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
		p, got := New(Span{0, Forever}), make(map[nostr.ID]bool)
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
				p.Done()
			case p.Cut(true) && r.IntN(2) == 0:
				p.Forget()
			}
		}
		for _, e := range s.events {
			if !got[e.id] && !s.mayHide(e, most-1) {
				t.Fatalf("seed %d: %d events, %d at a time: the one at %d is missed", seed, n, most, e.at)
			}
		}
		if hidden := len(got) < n; hidden && !p.gap {
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
	p := New(Span{0, Forever})
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
		p.Done()
		if len(p.seen) > MostSeen+500 {
			t.Fatalf("%d ids are known after %d", len(p.seen), n)
		}
	}
}

func TestPagerCost(t *testing.T) {
	for _, c := range []struct {
		events, limit, most int
	}{
		{0, 500, 1}, {1, 500, 5}, {300, 500, 5}, {500, 500, 5}, {5000, 500, 17}, {5000, 20, 5000/19 + 8}, {100, 2, 110},
	} {
		t.Run(fmt.Sprint(c.events, " by ", c.limit), func(t *testing.T) {
			s := &shelf{limit: c.limit, habit: newestFirst}
			for i := range c.events {
				s.events = append(s.events, at(uint64(i), int64(10*i)))
			}
			if _, got := read(t, s, Span{0, Forever}, c.most); len(got) != c.events {
				t.Errorf("received %d of %d", len(got), c.events)
			}
		})
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
	if !p.gap {
		t.Error("a full page of one second was not told")
	}
}

func TestPagerTellsNoGapOfShortSecond(t *testing.T) {
	s := &shelf{limit: 100, habit: newestFirst}
	for i := range 300 {
		s.events = append(s.events, at(uint64(i), int64(i/30)))
	}
	if p, got := read(t, s, Span{0, Forever}, 40); p.gap || len(got) != 300 {
		t.Errorf("gap %v, received %d", p.gap, len(got))
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
	p := New(Span{0, Forever})
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
		p.Done()
	}
	if len(got) != 35 {
		t.Errorf("received %d of 35", len(got))
	}
}

func TestPagerGivesUp(t *testing.T) {
	p := New(Span{0, Forever})
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
		p.Done()
	}
	if !p.Exhausted() {
		t.Error("ended without a word")
	}
}

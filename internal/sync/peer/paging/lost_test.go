package paging

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// now is the time at which shelves are read.
const now = 1_700_100_000

// connected reads a shelf whose connections end after so many messages, or at an event that is too large. It returns what came, and how many
// connections and events that took.
func connected(t *testing.T, s *shelf, p *Pager, messages int, large func(dated) bool) (got map[nostr.ID]bool, connections, sent int) {
	t.Helper()
	s.put()
	got = make(map[nostr.ID]bool)
	for {
		if connections++; connections > 300 {
			t.Fatalf("more than %d connections, %d of %d came: %+v", connections, len(got), len(s.events), p.todo)
		}
		left, lost := messages, false
		for !lost {
			ask, ok := p.Next()
			if !ok {
				return got, connections, sent
			}
			for _, e := range s.answer(ask) {
				if left--; left < 0 || large(e) {
					lost = true
					break
				}
				sent++
				got[e.id] = true
				p.Received(e.id, e.at)
			}
			if left--; !lost && left >= 0 {
				p.Done(500)
				continue
			}
			lost = true
		}
		p.habits.Lost()
		p.Lost(now)
		p.Resume(now-900, p.habits)
	}
}

// TestPagerGoesOnWithTheNextConnection, where each one ends after some messages: each event is sent about once.
func TestPagerGoesOnWithTheNextConnection(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for name, habit := range map[string]func(int, []dated, int) []dated{"newest first": newestFirst, "any": anyOf(r), "oldest first": oldestFirst} {
		for _, limit := range []int{500, 50} {
			s := &shelf{limit: limit, habit: habit}
			for i := range 601 {
				s.events = append(s.events, at(uint64(i), now-1_000_000+r.Int64N(990_000)))
			}
			p := New(Span{0, Forever}, &Habits{})
			got, n, sent := connected(t, s, p, 60, func(dated) bool { return false })
			if len(got) != 601 || p.Unproven() || n > 40 || sent > 7*601/2 || name == "newest first" && (sent > 601*7/4 || n > 20) {
				t.Errorf("%s, %d a page: %d came in %d connections, %d were sent, unproven: %v", name, limit, len(got), n, sent, p.Unproven())
			}
		}
	}
}

// TestPagerLeavesOutWhatEndsConnections: an event that is too large keeps nothing away but its second, wherever it stands.
func TestPagerLeavesOutWhatEndsConnections(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, which := range []int{0, 1, 200, 480, 481} {
		s, h := &shelf{limit: 500, habit: newestFirst}, &Habits{}
		for i := range 482 {
			s.events = append(s.events, at(uint64(i), now-100_000_000+int64(i)*200_000+r.Int64N(200_000)))
		}
		id := s.events[which].id
		large := func(e dated) bool { return e.id == id }
		p := New(Span{0, Forever}, h)
		got, n, _ := connected(t, s, p, 1<<20, large)
		if len(got) != 481 || !p.Unproven() || n > 60 {
			t.Errorf("event %d: %d came in %d connections, unproven: %v", which, len(got), n, p.Unproven())
		}
		// The next filter that matches it is not stopped by it.
		p = New(Span{0, Forever}, h)
		if got, n, _ := connected(t, s, p, 1<<20, large); len(got) != 481 || !p.Unproven() || n > 1 {
			t.Errorf("event %d, once it is known: %d came in %d connections, unproven: %v", which, len(got), n, p.Unproven())
		}
	}
}

// TestPagerAsksAgainForWhatCameMeanwhile, while there was no connection.
func TestPagerAsksAgainForWhatCameMeanwhile(t *testing.T) {
	s := &shelf{limit: 10, habit: newestFirst}
	for i := range 30 {
		s.events = append(s.events, at(uint64(i), now-50_000+int64(i)*1000))
	}
	s.put()
	p := New(Span{0, Forever}, &Habits{})
	var asked []Span
	for n := 0; ; n++ {
		q, ok := p.Next()
		if !ok {
			break
		}
		asked = append(asked, q)
		for _, e := range s.answer(q) {
			p.Received(e.id, e.at)
		}
		p.Done(500)
		if n == 3 {
			p.Lost(now)
			p.Resume(now-900, p.habits)
			p.Resume(now-600, p.habits)
		}
	}
	if i := slices.Index(asked, From(now-900)); i < len(asked)-2 {
		t.Errorf("asked %v", asked)
	}
}

// TestPagerAsksForWhatCameMeanwhileAboveWhatItReads: it reads what is below the events that were compared before the connection was lost.
func TestPagerAsksForWhatCameMeanwhileAboveWhatItReads(t *testing.T) {
	s := &shelf{limit: 10, habit: newestFirst}
	for i := range 5 {
		s.put(at(uint64(i), now-50_000+int64(i)*1000))
	}
	p := New(Span{0, now - 40_000}, &Habits{})
	ask(p, s)
	p.Lost(now)
	s.put(at(9, now-100))
	p.Resume(now-900, p.habits)
	for !p.Ended() || p.late > 0 {
		ask(p, s)()
	}
	if p.known != 6 {
		t.Errorf("%d of 6 came", p.known)
	}
}

// TestPagerDoesNotHaveARelayDialedForEver that never answers.
func TestPagerDoesNotHaveARelayDialedForEver(t *testing.T) {
	p, soon := New(Span{0, Forever}, &Habits{}), 0
	for range 1000 {
		if _, ok := p.Next(); !ok {
			return
		}
		if p.Lost(now) {
			soon++
		}
		p.Resume(now, p.habits)
	}
	if soon > mostLosses {
		t.Errorf("another question is worth trying %d times", soon)
	}
}

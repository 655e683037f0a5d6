package paging

import (
	"math/rand/v2"
	"testing"
)

type habit = func(page int, matching []dated, limit int) []dated

// sifted filters a page after it was filled, so that it has up to five events less.
func sifted(r *rand.Rand, of habit) habit {
	return func(page int, m []dated, limit int) []dated { return of(page, m, limit-r.IntN(6)) }
}

// uneven gives now twelve events, now as many as it can.
func uneven(r *rand.Rand, of habit) habit {
	return func(page int, m []dated, limit int) []dated { return of(page, m, pick2(r, limit, 12)) }
}

// shapes are the ways in which the times of events lie: far apart, dense, and in bursts of a second.
var shapes = map[string]func(r *rand.Rand, i int) int64{
	"far apart": func(r *rand.Rand, _ int) int64 { return r.Int64N(1e7) },
	"dense":     func(r *rand.Rand, _ int) int64 { return r.Int64N(3000) },
	"bursts":    func(_ *rand.Rand, i int) int64 { return int64(i/19) * 1000 },
}

// TestPagerBelievesNoSecondThatIsNearlyFull: a relay filters its pages once they are full and sorts them, and some seconds have about as many events as a
// page, or more. A second that lacks an event or two is believed only where no other answer has shown what the relay does.
func TestPagerBelievesNoSecondThatIsNearlyFull(t *testing.T) {
	few := 0
	for name, of := range map[string]habit{"newest first": newestFirst, "oldest first": oldestFirst, "what came first": firstCome, "pile by pile": piles} {
		for _, burst := range []int{10, 48, 60, 120} {
			for seed := range uint64(40) {
				r := rand.New(rand.NewPCG(seed, 77))
				s := &shelf{limit: 50, habit: tidy(sifted(r, of))}
				n := 601
				if seed%2 == 0 {
					n = 12 * burst
				}
				for i := range n {
					s.events = append(s.events, at(uint64(i*7919%10007), 1_700_000_000+int64(i/burst)*pick2[int64](r, 1, 1000)))
				}
				if p, got := read(t, s, Span{0, Forever}, 4000); len(got) >= n-3 && len(got) < n && !p.Unproven() {
					few++
				} else if len(got) < n && !p.Unproven() {
					t.Errorf("%s, %d in a second, seed %d: received %d of %d, as if that were all", name, burst, seed, len(got), n)
				}
			}
		}
	}
	if few > 2 {
		t.Errorf("%d of 640 lack a few events, as if that were all", few)
	}
}

// TestPagerBelievesNoPageThatIsNearlyFull: whatever a relay puts into pages that are not of one size, and whether it takes ends for exclusive
// or not, what is missing in the end is told.
func TestPagerBelievesNoPageThatIsNearlyFull(t *testing.T) {
	for kind, wrap := range map[string]func(*rand.Rand, habit) habit{"sifted": sifted, "uneven": uneven} {
		for _, name := range []string{"newest first", "oldest first", "what came first", "any", "pile by pile"} {
			t.Run(kind+", "+name, func(t *testing.T) {
				for seed := range uint64(12) {
					for shape := range shapes {
						nearlyFull(t, wrap, name, seed, shape)
					}
				}
			})
		}
	}
}

func nearlyFull(t *testing.T, wrap func(*rand.Rand, habit) habit, name string, seed uint64, shape string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 77))
	of := wrap(r, map[string]habit{
		"newest first": newestFirst, "oldest first": oldestFirst, "what came first": firstCome, "any": anyOf(r), "pile by pile": piles,
	}[name])
	if seed%2 == 0 {
		of = tidy(of)
	}
	s := &shelf{limit: 50, habit: of, exclusive: Span{int64(seed / 2 % 2), int64(seed / 4 % 2)}}
	for i := range 601 {
		s.events = append(s.events, at(uint64(i*7919%10007), 1_700_000_000+shapes[shape](r, i)))
	}
	p, got := read(t, s, Span{0, Forever}, 4000)
	if len(got) < 601 && !p.Unproven() {
		t.Errorf("seed %d, %s: received %d of 601, as if that were all", seed, shape, len(got))
	}
}

// TestPagerReadsAllOfPagesThatAreSifted, in few questions.
func TestPagerReadsAllOfPagesThatAreSifted(t *testing.T) {
	for name, of := range map[string]habit{"newest first": newestFirst, "oldest first": oldestFirst, "what came first": firstCome, "pile by pile": piles} {
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, 78))
			s := &shelf{limit: 50, habit: sifted(r, of)}
			for i := range 601 {
				s.events = append(s.events, at(uint64(i*7919%10007), 1_700_000_000+r.Int64N(1e7)))
			}
			if p, got := read(t, s, Span{0, Forever}, 120); len(got) != 601 || p.Unproven() {
				t.Errorf("%s, seed %d: received %d of 601, unproven: %v", name, seed, len(got), p.Unproven())
			}
		}
	}
}

// TestPagerAsksAgainForWhatItBelievedTooEarly: the first answer is in order, of the newer half and not full, so that it is believed. Only the next
// one shows that the relay has no order.
func TestPagerAsksAgainForWhatItBelievedTooEarly(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 79))
		h := &Habits{}
		readBy(t, &shelf{limit: 50, habit: newestFirst, events: spread(r, 60)}, h, Span{0, Forever}, 20)
		answer, tidied := anyOf(r), tidy(anyOf(r))
		s := &shelf{limit: 45, events: spread(r, 601), habit: func(page int, m []dated, limit int) []dated {
			if page == 0 {
				return tidied(page, m[:300], limit)
			}
			return answer(page, m, limit)
		}}
		if p, got := readBy(t, s, h, Span{0, Forever}, 1000); len(got) < 601 && !p.Unproven() {
			t.Errorf("seed %d: received %d of 601, as if that were all", seed, len(got))
		}
	}
}

// spread are n events whose times lie far apart.
func spread(r *rand.Rand, n int) (events []dated) {
	for i := range n {
		events = append(events, at(uint64(i*7919%10007), 1_700_000_000+r.Int64N(1e7)))
	}
	return events
}

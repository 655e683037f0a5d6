package bucket

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Unix(1_000_000, 0)

// counted is a bucket by the tokens that it holds.
type counted struct {
	tokens float64
	at     time.Time
}

func (c counted) filled(now time.Time, r Rate) float64 {
	came := float64(now.Sub(c.at)) * float64(r.Tokens) / float64(r.In)
	tokens := min(float64(r.Burst), c.tokens+max(0, came))
	if math.Abs(tokens-math.Round(tokens)) < 1e-6 { // no difference of roundings
		tokens = math.Round(tokens)
	}
	return tokens
}

// Any sequence of operations does what it does to a count of tokens, whatever the clock does.
func TestLikeACountOfTokens(t *testing.T) {
	for _, r := range []Rate{{1, time.Second, 1}, {20, time.Second, 200}, {3, time.Second, 7}, {1, 3 * time.Minute, 20}, {1000, time.Hour, 1000}} {
		rnd := rand.New(rand.NewPCG(uint64(r.Tokens), uint64(r.Burst)))
		var b Bucket
		now := start
		model := counted{float64(r.Burst), now}
		step := r.time(1)
		refused := 0
		for i := range 20_000 {
			now = now.Add(time.Duration(rnd.Int64N(int64(step))))
			if rnd.IntN(20) == 0 {
				now = now.Add(-step * 5)
			}
			if rnd.IntN(4000) == 0 {
				now = now.Add(time.Duration(rnd.IntN(2*r.Burst)) * step)
			}
			tokens := model.filled(now, r)
			switch n := float64(rnd.IntN(3)); rnd.IntN(4) {
			case 0:
				b.Charge(now, r, n)
				model = counted{tokens - n, now}
			case 1:
				b.Spend(now, r, n)
				model = counted{max(min(tokens, 0), tokens-n), now}
			default:
				took := b.Take(now, r)
				if took != (tokens >= 1) {
					t.Fatalf("%v: %d: %v tokens, and Take says %v", r, i, tokens, took)
				}
				if took {
					model = counted{tokens - 1, now}
				} else {
					refused++
				}
			}
			tokens = model.filled(now, r)
			if full := b.Full(now); full != (tokens == float64(r.Burst)) {
				t.Fatalf("%v: %d: %v tokens, and Full says %v", r, i, tokens, full)
			}
			want, got := max(0, (1-tokens)*float64(step)), b.Wait(now, r)
			if math.Abs(float64(got)-want) > 1e-5*float64(step) {
				t.Fatalf("%v: %d: %v tokens, and a wait of %v", r, i, tokens, got)
			}
		}
		if refused < 100 {
			t.Errorf("%v: only %d refused", r, refused)
		}
	}
}

// After the wait there is a token, and a nanosecond before there is none.
func TestTheWaitIsExact(t *testing.T) {
	for _, r := range []Rate{{1, 10 * time.Minute, 64}, {1, 5 * time.Millisecond, 5}, {3, time.Second, 30}, {7, time.Hour, 7}} {
		var b Bucket
		for range r.Burst {
			if !b.Take(start, r) {
				t.Fatalf("%v: a full bucket has too little", r)
			}
		}
		for now, i := start, 0; i < 1000; i++ {
			wait := b.Wait(now, r)
			if wait <= 0 || b.Take(now.Add(wait-1), r) {
				t.Fatalf("%v: a token before its time, which is in %v", r, wait)
			}
			if now = now.Add(wait); b.Wait(now, r) != 0 || !b.Take(now, r) {
				t.Fatalf("%v: no token after %v", r, wait)
			}
		}
	}
}

// Who is refused again and again waits no longer for that, and parts of a token are not lost.
func TestAskingCostsNothing(t *testing.T) {
	r := Rate{1, time.Second, 1}
	var b Bucket
	took := 0
	for now := start; now.Before(start.Add(100 * time.Second)); now = now.Add(70 * time.Millisecond) {
		if b.Take(now, r) {
			took++
		}
	}
	if took < 95 {
		t.Errorf("%d tokens in 100 seconds", took)
	}
}

// What is charged and not there is a debt; what is spent and not there is none.
func TestDebts(t *testing.T) {
	r := Rate{10, time.Second, 100}
	var charged, spent Bucket
	charged.Charge(start, r, 1000.5)
	spent.Spend(start, r, 1000.5)
	if got := charged.Wait(start, r); got != 90*time.Second+150*time.Millisecond {
		t.Errorf("a debt of 900.5 tokens is paid in %v", got)
	}
	if got := spent.Wait(start, r); got != 100*time.Millisecond {
		t.Errorf("an empty bucket has a token in %v", got)
	}
	if end := start.Add(100*time.Second + 50*time.Millisecond); charged.Full(end.Add(-1)) || !charged.Full(end) {
		t.Error("a debt is not paid when it should be")
	}
	if back := start.Add(-time.Hour); spent.Wait(back, r) != 100*time.Millisecond {
		t.Error("a clock that was set back changes the wait")
	}
}

// Many tokens of a high rate cost what they cost together.
func TestBytes(t *testing.T) {
	r := Rate{3 << 20, time.Second, 30 << 20}
	var b Bucket
	for range 10_000 {
		b.Charge(start, r, 1500)
	}
	over := float64(10_000*1500 - 30<<20 + 1)
	if got, want := b.Wait(start, r), max(0, over/(3<<20)); math.Abs(got.Seconds()-want) > 1e-4 {
		t.Errorf("%v instead of %v s", got, want)
	}
	for range 20_000 {
		b.Charge(start, r, 1500)
	}
	over += 20_000 * 1500
	if got, want := b.Wait(start, r), over/(3<<20); math.Abs(got.Seconds()-want) > 1e-4 {
		t.Errorf("%v instead of %v s", got, want)
	}
}

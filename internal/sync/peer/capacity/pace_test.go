package capacity

import (
	"slices"
	"testing"
	"time"
)

// play sends requests as soon as the pace allows and returns the waits between them, in milliseconds. The numbers in refused, from 1 on,
// are of requests that the relay refuses at once.
func play(n int, refused ...int) (waits []int64) {
	var p Pace
	now := time.Duration(0)
	for i := 1; i <= n; i++ {
		next := p.Asked(now)
		if slices.Contains(refused, i) {
			next = max(next, p.Slower(now, false))
		}
		waits = append(waits, (next - now).Milliseconds())
		now = next
	}
	return waits
}

// TestAPaceIsSearchedFor: a pause that bought nothing is short once, as many requests go out as a pause bought, and rests get shorter while
// they buy as many.
func TestAPaceIsSearchedFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		refused []int
		want    []int64
	}{
		{"never", nil, []int64{0, 0, 0}},
		{"again and again", []int{1, 2, 3, 4}, []int64{65_000, 16_250, 65_000, 65_000}},
		{"one each", []int{1, 3, 8}, []int64{65_000, 0, 32_500, 16_250, 8_125, 4062, 2031, 4062, 4062}},
		{"two each", []int{1, 4, 9}, []int64{65_000, 0, 0, 32_500, 0, 16_250, 0, 8_125, 16_250, 0, 16_250}},
		{"never again", []int{1, 3}, []int64{65_000, 0, 32_500, 16_250, 8_125, 4062, 2031, 1015, 507, 253, 0, 0}},
	} {
		if got := play(len(c.want), c.refused...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}

// TestRefusalsOfOnePauseAreOne: what is refused before a pause is over was asked before it began.
func TestRefusalsOfOnePauseAreOne(t *testing.T) {
	var p Pace
	p.Asked(0)
	till := p.Slower(0, false)
	if till != SlowDown || p.Slower(time.Second, false) != till || p.idle != 0 {
		t.Errorf("a pause until %v, and then until %v", till, p.Slower(time.Second, false))
	}
}

// TestNobodyWaits: where nothing that is waited for is missing, the relay is left alone for the longest pause.
func TestNobodyWaits(t *testing.T) {
	var p Pace
	for now := time.Duration(0); now < time.Hour; now += SlowDown {
		p.Asked(now)
		if till := p.Slower(now, true); till != now+SlowDown {
			t.Fatalf("at %v: until %v", now, till)
		}
	}
}

// TestAShorterRestIsTriedAgain after a while: the relay may have been busy.
func TestAShorterRestIsTriedAgain(t *testing.T) {
	waits := play(400, 1, 3, 8)
	if last := waits[len(waits)-1]; last != 0 {
		t.Errorf("a rest of %d ms is kept for ever", last)
	}
}

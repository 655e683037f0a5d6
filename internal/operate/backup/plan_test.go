package backup

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// at are backups that were begun at these times, from noon on.
func at(after ...time.Duration) (there []entire) {
	for _, d := range after {
		there = append(there, entire{nameAt("graspd-ab", noon.Add(d)), noon.Add(d), 1})
	}
	return there
}

func TestWhenTheNextIsDue(t *testing.T) {
	for name, c := range map[string]struct {
		there []entire
		next  time.Duration // from now on
	}{
		"none":                            {nil, 0},
		"the newest counts":               {at(-30*time.Hour, -10*time.Hour, -20*time.Hour), 14 * time.Hour},
		"long ago":                        {at(-100 * day), 0},
		"just now":                        {at(0), day},
		"by a clock that was a bit ahead": {at(10 * time.Hour), 34 * time.Hour},
		"by a clock that was far ahead":   {at(365*day, -10*time.Hour), 14 * time.Hour},
		"only by such a clock":            {at(365 * day), 0},
	} {
		if next := due(noon, day, c.there); next.Sub(noon) != c.next {
			t.Errorf("%s: due after %v, not %v", name, next.Sub(noon), c.next)
		}
	}
}

func TestWhichAreRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		there []entire
		keep  int
		gone  []entire
	}{
		"as many as are kept": {at(-1*day, -2*day), 2, nil},
		"the oldest":          {at(-1*day, -4*day, -2*day, -3*day), 2, at(-4*day, -3*day)},
		"one stays":           {at(-1*day, -2*day), 1, at(-2 * day)},
		"those of a clock that was far ahead are the oldest":    {at(-1*day, 365*day, -2*day), 2, at(365 * day)},
		"those of a clock that was a bit ahead are the newest":  {at(-1*day, 10*time.Hour, -2*day), 2, at(-2 * day)},
		"where all are of a clock that was ahead, some do stay": {at(365*day, 366*day, 367*day), 2, at(365 * day)},
	} {
		var want []string
		for _, w := range c.gone {
			want = append(want, w.name)
		}
		if got := surplus(noon, day, c.keep, c.there); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestAClockThatJumps: whatever it does, the relay makes a backup within two intervals, keeps as many as it should, and the newest is
// one of them.
func TestAClockThatJumps(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		now, keep, waited := noon, 1+r.IntN(5), time.Duration(0)
		var there []entire
		for range 500 {
			if r.IntN(20) == 0 {
				waited = 0
				now = now.Add(time.Duration(r.Int64N(int64(800*day))) - 400*day)
			}
			next := due(now, day, there)
			if next.Sub(now) > 2*day {
				t.Fatalf("seed %d: due after %v", seed, next.Sub(now))
			}
			if next.After(now) {
				if waited += time.Hour; waited > 2*day {
					t.Fatalf("seed %d: none was made for two intervals", seed)
				}
				now = now.Add(time.Hour)
				continue
			}
			waited = 0
			b := begins("graspd-ab", now, there)
			made := entire{nameAt("graspd-ab", b), b, 1}
			if slices.Contains(there, made) {
				t.Fatalf("seed %d: a name twice", seed)
			}
			there = append(there, made)
			old := surplus(now, day, keep, there)
			there = slices.DeleteFunc(there, func(w entire) bool { return slices.Contains(old, w.name) })
			if len(there) > keep || !slices.Contains(there, made) {
				t.Fatalf("seed %d: of %d to keep %v stay, made %v", seed, keep, there, made)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for name, c := range map[string]struct{ complete, ok bool }{
		"graspd-ab-20261124T120000Z.tar":         {true, true},
		"graspd-ab-20261124T120000Z.tar.partial": {false, true},
		"graspd-cd-20261124T120000Z.tar":         {},
		"graspd-ab-20261124T120000Z.tar.zst":     {},
		"graspd-ab-20261124.tar":                 {},
		"graspd-ab-20261324T120000Z.tar":         {},
		"graspd-ab-.tar":                         {},
		"notes":                                  {},
	} {
		at, complete, ok := parse("graspd-ab", name)
		if ok != c.ok || ok && (complete != c.complete || !at.Equal(noon)) {
			t.Errorf("%s: %v, %v, %v", name, at, complete, ok)
		}
	}
	if name := nameAt("graspd-ab", noon); name != "graspd-ab-20261124T120000Z.tar" {
		t.Error(name)
	}
	if b := begins("graspd-ab", noon, at(0, time.Second)); !b.Equal(noon.Add(2 * time.Second)) {
		t.Errorf("a name that is taken: %v", b)
	}
}

func TestHowLongUntilAnotherTry(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: time.Minute, 2: 2 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 1000: time.Hour} {
		if got := retryAfter(failures, day); got != want {
			t.Errorf("%d failures: %v", failures, got)
		}
	}
	if got := retryAfter(10, 5*time.Minute); got != 5*time.Minute {
		t.Errorf("longer than the interval: %v", got)
	}
}

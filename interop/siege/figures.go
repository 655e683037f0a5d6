package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// delays are how long a client waited for its answers, one after the other.
type delays []time.Duration

// within is the time within which that share of the answers came, of 0 to 1; 0 where there was none.
func (d delays) within(share float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}

// String is the median and the 99th percentile.
func (d delays) String() string {
	if len(d) == 0 {
		return "none"
	}
	return span(d.within(0.5)) + " / " + span(d.within(0.99))
}

// ratio says how many times as long as before it took.
func ratio(before, under delays) string {
	if len(before) == 0 || len(under) == 0 {
		return ""
	}
	return fmt.Sprintf(" (×%.1f / ×%.1f)", under.within(0.5).Seconds()/before.within(0.5).Seconds(), under.within(0.99).Seconds()/before.within(0.99).Seconds())
}

// span is a time in milliseconds or seconds.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// tally is what the attackers of one attack did and got.
type tally struct {
	opened, turnedAway, cut atomic.Int64           // connections: made, refused, and ended by the relay
	messages, sent          atomic.Int64           // and their bytes
	frames, got             atomic.Int64           // and their bytes
	refusals                atomic.Int64           // frames that say no: OK false, CLOSED, NEG-ERR, NOTICE
	refusal                 atomic.Pointer[string] // the first of them, for people

	mu      sync.Mutex     // guards answers
	answers map[string]int // of requests of git, by what they say
}

// heard counts an answer to a request of git. Of all that there are many are told apart.
func (t *tally) heard(verdict string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answers == nil {
		t.answers = map[string]int{}
	}
	if _, known := t.answers[verdict]; !known && len(t.answers) >= mostAnswers {
		verdict = "other answers"
	}
	t.answers[verdict]++
}

const (
	mostAnswers = 100 // that are counted each by itself
	toldAnswers = 6
)

// told are the answers that came most, with how often.
func (t *tally) told() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := slices.SortedFunc(maps.Keys(t.answers), func(a, b string) int {
		return cmp.Or(t.answers[b]-t.answers[a], strings.Compare(a, b))
	})
	var said []string
	others := 0
	for i, n := range names {
		if i < toldAnswers {
			said = append(said, fmt.Sprintf("%d × %s", t.answers[n], n))
		} else {
			others += t.answers[n]
		}
	}
	if others > 0 {
		said = append(said, fmt.Sprintf("%d others", others))
	}
	return strings.Join(said, "; ")
}

func (t *tally) String() string {
	if told := t.told(); told != "" {
		return fmt.Sprintf("%d requests, %s; answers of %s: %s", t.messages.Load(), size(t.sent.Load()), size(t.got.Load()), told)
	}
	s := fmt.Sprintf("%d connections", t.opened.Load())
	if n := t.turnedAway.Load(); n > 0 {
		s += fmt.Sprintf(", %d more refused", n)
	}
	if n := t.cut.Load(); n > 0 {
		s += fmt.Sprintf(", %d of them cut", n)
	}
	s += fmt.Sprintf("; sent %d messages, %s; got %d frames, %s", t.messages.Load(), size(t.sent.Load()), t.frames.Load(), size(t.got.Load()))
	if n := t.refusals.Load(); n > 0 {
		s += fmt.Sprintf(", %d of them refusals", n)
	}
	return s
}

// refused counts a refusal, and keeps its beginning if it is the first.
func (t *tally) refused(begun []byte) {
	t.refusals.Add(1)
	if t.refusal.Load() == nil {
		t.refusal.CompareAndSwap(nil, new(string(begun)))
	}
}

// size is a number of bytes in kB or MB.
func size(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}

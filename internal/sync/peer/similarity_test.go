package peer

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/policy"
)

// TestWhatIsKnownOfARelay: an end of a comparison proves it, and forgets what was held against the relay.
func TestWhatIsKnownOfARelay(t *testing.T) {
	var l similarity
	if l.alike || !l.due(0) {
		t.Error("something is known of a relay that was never asked")
	}
	l.after = time.Hour
	if l.due(time.Hour-1) || !l.due(time.Hour) {
		t.Error("what comes to no end is tried again at once, or never")
	}
	if first, second, third := l.countLost(), l.countLost(), l.countLost(); first || second || !third {
		t.Error("three connections in a row are too many")
	}
	if !l.confirm() || !l.alike || !l.due(0) || l.confirm() {
		t.Error("a comparison that ended proves it, and is news once")
	}
	if first, second := l.countLost(), l.countLost(); first || second {
		t.Error("connections count that were lost before a comparison ended")
	}
	if !l.reject(2*time.Hour) || l.alike || l.due(2*time.Hour-1) || !l.due(2*time.Hour) {
		t.Error("a relay that is not alike is tried before its time, or never")
	}
	if l.reject(time.Hour) || l.due(2*time.Hour-1) {
		t.Error("a later reason brings the next try forward, or is news")
	}
	if l = (similarity{alike: true}); !l.due(0) {
		t.Error("what was known before is forgotten")
	}
}

// TestBothSidesMayDiffer in a thousand events, and a twentieth of ours.
func TestBothSidesMayDiffer(t *testing.T) {
	for here, want := range map[int]int{0: 1000, 100_000: 6000} {
		if got := tolerance(here); got != want {
			t.Errorf("of %d in %d, want %d", here, got, want)
		}
	}
}

// TestAStreamOfWhatNobodyWants is noticed after some hundred events, and not by the first of them.
func TestAStreamOfWhatNobodyWants(t *testing.T) {
	for name, c := range map[string]struct {
		idle int // of ten
		out  policy.Outcome
		want bool
	}{
		"mostly wanted":             {5, policy.Unrelated, false},
		"mostly unrelated":          {6, policy.Unrelated, true},
		"mostly refused":            {6, policy.Refuse, true},
		"mostly not listed":         {6, policy.Unlisted, true},
		"mostly without maintainer": {6, policy.NoMaintainer, true},
		"mostly discarded":          {6, policy.Discard, true},
		"mostly known":              {9, policy.Duplicate, false},
	} {
		var s stream
		told, at := 0, 0
		for i := range 1000 {
			out := policy.Accept
			if i%10 < c.idle {
				out = c.out
			}
			if s.count(out) {
				told++
				if at == 0 {
					at = i + 1
				}
			}
		}
		if (told > 0) != c.want || c.want && (told != 2 || at != 500) {
			t.Errorf("%s: told %d times, first after %d events", name, told, at)
		}
	}
}

// TestWhatIsKnownTellsNothing of a relay that else brings what nobody wants.
func TestWhatIsKnownTellsNothing(t *testing.T) {
	var s stream
	for i := range 1000 {
		if s.count(policy.Duplicate) {
			t.Fatal("told of what another relay brought before")
		}
		if told := s.count(policy.Unrelated); told != (i == 499 || i == 999) {
			t.Fatalf("after %d events told: %v", i+1, told)
		}
	}
}

// TestWhatIsWantedComesToRest when it has hardly grown for a while.
func TestWhatIsWantedComesToRest(t *testing.T) {
	var g growth
	for _, c := range []struct {
		items int
		at    time.Duration
		calm  bool
		wake  time.Duration
	}{
		{1000, 10 * time.Second, false, 25 * time.Second},
		{1050, 20 * time.Second, false, 25 * time.Second}, // a twentieth more
		{1050, 25 * time.Second, true, backoff.Never},
		{1051, 30 * time.Second, false, 45 * time.Second},
		{100, 50 * time.Second, true, backoff.Never},
		{106, 60 * time.Second, false, 75 * time.Second}, // much, of what is left
	} {
		if calm := g.calm(c.items, c.at); calm != c.calm || g.wake(c.at) != c.wake {
			t.Errorf("%d items at %v: calm %v, wakes at %v", c.items, c.at, calm, g.wake(c.at))
		}
	}
}

package ingest_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// What is told is counted: by source and outcome, refusals by their first word,
// and how long each took.
func TestVerdictsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Verifier: &marked{Delay: 20 * time.Millisecond}, Workers: 1}})
		defer w.end()
		now := time.Now()
		repo := announcement(1, "tool", now)
		c := w.client()
		w.want(w.publish(c, repo), policy.Accept)
		w.want(w.publish(c, repo), policy.Duplicate)
		w.want(w.publish(c, missigned(issue(2, repo, now, "a"))), policy.Invalid)
		w.want(w.fetch(w.peer("a"), issue(2, repo, now, "b")), policy.Accept)
		w.want(w.fetch(w.peer("a"), elsewhere(3, "other", now)), policy.Unlisted)

		s := w.door.Stats()
		if s.Decided[store.Direct][policy.Accept] != 1 || s.Decided[store.Direct][policy.Duplicate] != 1 ||
			s.Decided[store.Direct][policy.Invalid] != 1 || s.Decided[store.Catchup][policy.Accept] != 1 {
			t.Errorf("decided: %v", s.Decided)
		}
		invalid, blocked := slices.Index(ingest.Prefixes[:], "invalid"), slices.Index(ingest.Prefixes[:], "blocked")
		if s.Refused[policy.Invalid][invalid] != 1 || s.Refused[policy.Unlisted][blocked] != 1 || s.Refused[policy.Duplicate] != s.Refused[policy.Accept] {
			t.Errorf("refused: %v", s.Refused)
		}
		direct := s.Latency[store.Direct]
		if at := slices.Index(ingest.Latencies[:], 25*time.Millisecond); direct.Classes[0] != 1 || direct.Classes[at] != 2 || direct.Sum != 40*time.Millisecond {
			t.Errorf("latency: %v", direct)
		}
		if s.Verified != 3 || s.Forged != 1 || s.Waiting != 0 {
			t.Errorf("verified %d, forged %d, waiting %d", s.Verified, s.Forged, s.Waiting)
		}
	})
}

// Events that wait for their verification are told.
func TestWaitingEventsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		c := w.client()
		first := w.submit(c, repo, store.Direct)
		w.submit(c, issue(2, repo, time.Now(), "a"), store.Direct)
		if n := w.door.Stats().Waiting; n != 2 {
			t.Errorf("%d wait, want 2", n)
		}
		w.run()
		w.want(<-first, policy.Accept)
	})
}

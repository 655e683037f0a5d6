package ingest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// Run ends in the middle of a catch-up: what was verified is stored, everything else hears an error, everybody hears
// once and in order, and nothing is left running (the bubble sees to that).
func TestShutdownInTheMiddleOfACatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Workers: 2}})
		w.verifier.Delay = time.Millisecond
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		const each = 1000
		answered := make([]int, 3)
		oks := 0
		for i := range answered {
			s := w.peer(fmt.Sprint(i))
			for j := range each {
				e := issue(2+i, repo, time.Now(), fmt.Sprint(j))
				err := s.Submit(t.Context(), e, store.Catchup, func(v policy.Verdict) {
					if answered[i] != j {
						t.Errorf("event %d of source %d was answered after %d", j, i, answered[i])
					}
					answered[i]++
					if v.OK() {
						oks++
					} else if v.Outcome != policy.Failed || !strings.HasPrefix(v.Reason, "error: ") {
						t.Errorf("verdict is %s %q", v.Outcome, v.Reason)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(100*time.Millisecond + time.Microsecond)
		verified := w.door.Stats().Verified - 1
		start := time.Now()
		w.end()
		if d := time.Since(start); d > 2*time.Millisecond {
			t.Errorf("the end took %v", d)
		}
		for i, n := range answered {
			if n != each {
				t.Errorf("source %d heard %d answers, want %d", i, n, each)
			}
		}
		if oks < int(verified) || oks > int(verified)+2 {
			t.Errorf("%d were stored of %d that were verified", oks, verified)
		}
		if err := w.client().Submit(t.Context(), repo, store.Direct, nil); !errors.Is(err, ingest.ErrStopped) {
			t.Errorf("the error is %v", err)
		}

		w = newWorld(t, setup{fs: w.fs})
		defer w.end()
		if got := len(w.ids()); got != oks+1 {
			t.Errorf("%d events are stored, want %d", got, oks+1)
		}
	})
}

// A disk that is too slow for the drain does not hold up the end.
func TestTheDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{fs: slowSync(400 * time.Millisecond), config: ingest.Config{
			Limits: ingest.Limits{BatchEvents: 10, DrainTime: 2 * time.Second}}})
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		s, oks, errs := w.peer("a"), 0, 0
		for i := range 1000 {
			err := s.Submit(t.Context(), issue(2, repo, time.Now(), fmt.Sprint(i)), store.Catchup, func(v policy.Verdict) {
				if v.OK() {
					oks++
				} else {
					errs++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		start := time.Now()
		w.end()
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("the end took %v", d)
		}
		if oks < 20 || oks > 200 || oks+errs != 1000 {
			t.Errorf("%d were stored and %d heard an error", oks, errs)
		}
	})
}

// The end of Run wakes nobody who is not there: a door that never had anything to do ends as well.
func TestShutdownOfAnIdleDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		time.Sleep(24 * time.Hour)
		start := time.Now()
		w.end()
		if d := time.Since(start); d != 0 {
			t.Errorf("the end took %v", d)
		}
	})
}

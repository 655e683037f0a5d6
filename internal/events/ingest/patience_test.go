package ingest_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const away = "error: no node takes writes at the moment; try again"

// heard is when somebody heard a verdict, and which.
type heard struct {
	at time.Duration
	v  policy.Verdict
}

// TestALogThatIsAway: while the commit log does not answer, whoever publishes waits for fifteen seconds and hears that they are to try again; work
// waits. Once it answers, all goes on by itself: what was in the batch is stored, and what was not is taken when it comes again.
func TestALogThatIsAway(t *testing.T) {
	for _, back := range []time.Duration{10 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var lost atomic.Bool
			log := &logtest.Memory{ReadFails: func(commitlog.Position) bool { return lost.Load() }, Fault: func(commitlog.Entry) logtest.Fault {
				if lost.Load() {
					return logtest.LostBefore
				}
				return logtest.Well
			}}
			w := newWorld(t, setup{opt: store.Options{Log: log}, idle: true})
			defer w.end()
			if _, err := w.store.Lead([]byte("a")); err != nil {
				t.Fatal(err)
			}
			w.run()
			repo := announcement(1, "tool", time.Now())
			w.want(w.publish(w.client(), repo), policy.Accept)

			begun := time.Now()
			lost.Store(true)
			time.AfterFunc(back, func() { lost.Store(false) })
			first, second, third := issue(2, repo, begun, "1"), issue(2, repo, begun, "2"), issue(2, repo, begun, "3")
			forged := issue(3, repo, begun, "4")
			forged.Sig = nostr.Sig{}
			source := w.client()
			later := func(e *nostr.Event, after time.Duration) <-chan heard {
				c := make(chan heard, 1)
				go func() {
					time.Sleep(after)
					v := <-w.submit(source, e, store.Direct)
					c <- heard{time.Since(begun), v}
				}()
				return c
			}
			all := []<-chan heard{later(first, 0), later(second, 5*time.Second), later(third, 20*time.Second), later(forged, 21*time.Second)}
			time.Sleep(time.Second)
			worked := make(chan time.Duration, 1)
			go func() {
				if err := w.door.Exclusively(t.Context(), "", func(x *ingest.Exclusive) error { return x.SetRow("row", []byte("value")) }); err != nil {
					t.Error(err)
				}
				worked <- time.Since(begun)
			}()
			time.Sleep(5 * time.Minute)
			got := make([]heard, len(all))
			for i, c := range all {
				got[i] = <-c
			}
			if at := <-worked; at < back || at > back+5*time.Second {
				t.Errorf("work ended after %v", at)
			}
			if got[3].v.Outcome == policy.Accept || got[3].v.Reason == away {
				t.Errorf("a forged event: %v", got[3].v)
			}
			if back < 15*time.Second {
				for i, h := range got[:3] {
					if h.v.Outcome != policy.Accept {
						t.Errorf("event %d: %v", i, h)
					}
				}
				return
			}
			for i, at := range []time.Duration{15 * time.Second, 15 * time.Second, 20 * time.Second} {
				if h := got[i]; h.v.Reason != away || h.v.Outcome != policy.Failed || h.at < at || h.at > at+1100*time.Millisecond {
					t.Errorf("event %d: %v", i, h)
				}
			}
			if w.known(first).State != store.Stored || w.known(second).State != store.Unknown || w.known(third).State != store.Unknown {
				t.Error("something else than the first event is stored")
			}
			w.want(w.publish(source, first), policy.Duplicate)
			w.want(w.publish(source, second), policy.Accept)
			w.want(w.publish(source, third), policy.Accept)
			if sources, places := w.door.Occupied(); places != 0 || sources == 0 {
				t.Errorf("%d places are taken", places)
			}
		})
	}
}

package ingest_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestADeposedNodeAnswers: where another node has written the commit log, everybody in the batch hears that they are to try again, and no event or
// work is blamed; so does everybody who comes later. Nothing of it is stored.
func TestADeposedNodeAnswers(t *testing.T) {
	for _, how := range []string{"one event", "many events", "work", "work beside events"} {
		synctest.Test(t, func(t *testing.T) {
			log := new(logtest.Memory)
			w := newWorld(t, setup{opt: store.Options{Log: log}, idle: true})
			defer w.end()
			if _, err := w.store.Lead([]byte("a")); err != nil {
				t.Fatal(err)
			}
			w.run()
			repo := announcement(1, "tool", time.Now())
			w.want(w.publish(w.client(), repo), policy.Accept)
			other, err := store.Open(store.Options{Dir: "data", FS: newMem(), Log: log})
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if _, err := other.Lead([]byte("b")); err != nil {
				t.Fatal(err)
			}
			at, head := log.Len(), w.store.Head()

			var heard []<-chan policy.Verdict
			var events []*nostr.Event
			n := map[string]int{"one event": 1, "many events": 40, "work beside events": 5}[how]
			for i := range n {
				e := issue(2, repo, time.Now(), fmt.Sprint(i))
				events = append(events, e)
				heard = append(heard, w.submit(w.client(), e, store.Direct))
			}
			if n < 40 && how != "one event" {
				times := 0
				err := w.door.Exclusively(t.Context(), "", func(x *ingest.Exclusive) error { times++; return x.SetRow("row", []byte("value")) })
				if !errors.Is(err, store.ErrDeposed) || times > 1 {
					t.Errorf("%s: it was done %d times, %v", how, times, err)
				}
			}
			late := issue(3, repo, time.Now(), "late")
			for _, c := range append(heard, w.submit(w.client(), late, store.Direct)) {
				if v := <-c; v.Outcome != policy.Failed || v.Reason != "error: another node takes events at the moment; try again" {
					t.Errorf("%s: verdict %s %q", how, v.Outcome, v.Reason)
				}
			}
			select {
			case <-w.store.Deposed():
			default:
				t.Errorf("%s: nobody is told", how)
			}
			time.Sleep(time.Minute)
			if log.Len() != at || w.store.Head() != head || w.known(late).State != store.Unknown {
				t.Errorf("%s: something was written", how)
			}
			for _, e := range events {
				if w.known(e).State != store.Unknown {
					t.Errorf("%s: an event is known", how)
				}
			}
			if s := w.door.Stats(); s.Faults != 0 {
				t.Errorf("%s: %d events or steps are blamed", how, s.Faults)
			}
		})
	}
}

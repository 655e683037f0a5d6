package ingest_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestAFaultOverOneEvent: an event over whose signature this program fails is not decided, and its sender hears so. Other
// events are, a copy of it among them that comes later, and the verifiers go on.
func TestAFaultOverOneEvent(t *testing.T) {
	faults := contain.New(nil, nil)
	odd := announcement(1, "odd", time.Now())
	v := &marked{Gate: func(id nostr.ID, _ nostr.Sig) {
		if n, _ := faults.Seen(); id == odd.ID && n == 0 {
			panic("planted")
		}
	}}
	w := newWorld(t, setup{config: ingest.Config{Verifier: v, Faults: faults, Workers: 1}})
	defer w.end()
	s := w.client()
	defer s.Close()
	if got := w.publish(s, odd); got.Outcome != policy.Failed || got.Reason != "error: internal" {
		t.Errorf("%+v", got)
	}
	if n, last := faults.Seen(); n != 1 || last.In != "an event" {
		t.Errorf("%d faults, %+v", n, last)
	}
	if st := w.door.Stats(); st.Forged != 0 || w.known(odd).State != store.Unknown {
		t.Errorf("it counts as forged or is remembered: %+v", st)
	}
	w.want(w.publish(s, announcement(1, "other", time.Now())), policy.Accept)
	w.want(w.publish(s, odd), policy.Accept)
}

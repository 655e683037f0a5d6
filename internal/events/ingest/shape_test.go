package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// What is too large, has too many tags or an empty one is refused whoever brings it, and remembered, so that no relay is asked for
// it again and its copies are not even verified.
func TestBoundsOfAnEventHoldForEverySource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		large := issue(2, repo, time.Now(), strings.Repeat("x", policy.MaxEventBytes))
		many, empty := issue(2, repo, time.Now(), "many"), issue(2, repo, time.Now(), "empty")
		for i := range 230_000 {
			many.Tags = append(many.Tags, nostr.Tag{"e", fmt.Sprint(i)})
		}
		empty.Tags = append(empty.Tags, nostr.Tag{})
		for _, e := range []*nostr.Event{large, sign(*many), sign(*empty)} {
			p := w.peer("relay")
			w.want(w.fetch(p, e), policy.Refuse)
			if k := w.known(e); k.State != store.Remembered || k.Why != policy.Refuse {
				t.Errorf("not remembered: %v", k)
			}
			w.want(w.fetch(p, e), policy.Refuse)
			if n := w.verifier.checks(e.ID); n != 1 {
				t.Errorf("verified %d times", n)
			}
			if v := w.publish(w.client(), e); v.Outcome != policy.Refuse || !strings.HasPrefix(v.Reason, "invalid: this event ") {
				t.Errorf("a client is told %v", v)
			}
		}
		if n := w.store.Stats().RememberedRows; n > 300 {
			t.Errorf("%d rows are remembered", n)
		}
	})
}

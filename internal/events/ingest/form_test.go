package ingest_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// TestAnotherForm: an event whose id is the hash of a form with 0x7f escaped is refused and remembered, also one of many copies, and a forged copy
// under its id is no such event.
func TestAnotherForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		w.want(<-w.submit(w.client(), repo, store.Direct), policy.Accept)
		odd := issue(2, repo, time.Now(), "it breaks").Clone()
		odd.Content += "\x7f"
		odd.ID = sha256.Sum256([]byte(strings.ReplaceAll(string(odd.AppendCanonical(nil)), "\x7f", `\u007f`)))
		w.want(<-w.submit(w.peer("forger"), forge(odd), store.Live), policy.Invalid)
		w.want(<-w.submit(w.peer("forger"), missigned(odd), store.Live), policy.Invalid)
		state := func() store.Knowledge {
			v := w.store.View()
			defer v.Close()
			k, err := v.Known(odd.ID)
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		if k := state(); k.State != store.Unknown {
			t.Fatalf("after forged copies: %+v", k)
		}
		var verdicts []<-chan policy.Verdict
		for _, p := range []string{"a", "b", "c"} {
			verdicts = append(verdicts, w.submit(w.peer(p), odd.Clone(), store.Catchup))
		}
		for _, v := range verdicts {
			w.want(<-v, policy.Refuse)
		}
		if k := state(); k.State != store.Remembered || k.Why != policy.Refuse {
			t.Fatalf("then: %+v", k)
		}
		w.want(<-w.submit(w.peer("d"), odd.Clone(), store.Live), policy.Refuse)
		v := <-w.submit(w.client(), odd.Clone(), store.Direct)
		if w.want(v, policy.Refuse); !strings.HasPrefix(v.Reason, `invalid: the id is the hash of a form with \u007f`) {
			t.Errorf("a client hears %q", v.Reason)
		}
		if w.get(odd.ID) != nil {
			t.Error("it is stored")
		}
	})
}

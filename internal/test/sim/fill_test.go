package sim_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// bubble runs f in a bubble with a world of its own, which ends with it.
func bubble(t *testing.T, f func(t *testing.T, w *sim.World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, 1)
		defer w.End()
		f(t, w)
	})
}

// wait lets d pass and everything that is due happen.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// announce makes the announcement of a repository that names relays.
func announce(w *sim.World, owner int, d string, relays ...grasp.RelayURL) *nostr.Event {
	tag := nostr.Tag{"relays"}
	for _, u := range relays {
		tag = append(tag, string(u))
	}
	return testkit.Mark(testkit.Someone(owner), w.Unix(), nip34.KindRepository, "", nostr.Tag{"d", d}, tag)
}

// issue makes an issue of the repository that ann announces.
func issue(w *sim.World, author int, ann *nostr.Event, text string) *nostr.Event {
	return testkit.Mark(testkit.Someone(author), w.Unix(), nip34.KindIssue, text, nostr.Tag{"a", ann.Address()})
}

func TestGraspdsFillEachOther(t *testing.T) {
	bubble(t, func(t *testing.T, w *sim.World) {
		f := w.Fake("fake.example.net")
		a := w.Graspd("a.example.org", sim.Options{Bootstrap: []grasp.RelayURL{f.URL}})
		b := w.Graspd("b.example.org", sim.Options{Bootstrap: []grasp.RelayURL{a.URL}})
		ann := announce(w, 1, "proj", a.URL, b.URL, f.URL)
		f.Store(ann)
		a.Start()
		b.Start()
		wait(time.Minute)
		b.WantStored(ann)
		here := issue(w, 2, ann, "published here")
		if v := b.Publish(here); !v.OK() {
			t.Fatal(v)
		}
		wait(time.Second)
		a.WantStored(here)
	})
}

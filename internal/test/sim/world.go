package sim

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/test/testkit"
)

// era is how far the clocks of a world are ahead of the bubble's, which begins in 2000: graspd assumes that hardly any event is older than 2020.
const era = 26 * 365 * 24 * time.Hour

// World has everything of one run. It lives in one bubble.
type World struct {
	t     testing.TB
	seed  uint64
	Net   *Network
	Fakes *testkit.Net
	log   *slog.Logger
	all   []*Graspd

	History gitfake.History // all git objects of the world
	mu      sync.Mutex      // guards the field up of every Graspd
}

// New returns an empty world. The same seed gives the same world.
func New(t testing.TB, seed uint64) *World {
	w := &World{t: t, seed: seed, Net: NewNetwork(seed), Fakes: testkit.NewNet(t)}
	w.Fakes.Seed, w.Fakes.Delay = seed, w.Net.Delay
	w.log = slog.New(slog.DiscardHandler)
	return w
}

// Tell has all graspds log to the test's output. Call it before they start.
func (w *World) Tell() {
	w.log = slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.String("at", w.Age().String())
		}
		return a
	}}))
}

// bubbleEpoch is when the clock of every bubble begins.
var bubbleEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Age returns how long the world has existed.
func (w *World) Age() time.Duration { return time.Since(bubbleEpoch) }

// Now returns the true time.
func (w *World) Now() time.Time { return time.Now().Round(0).Add(era) }

// Unix returns the true time in seconds.
func (w *World) Unix() int64 { return w.Now().Unix() }

// Fake adds a scripted relay.
func (w *World) Fake(name string) *testkit.FakeRelay { return w.Fakes.Relay(URL(name)) }

// URL returns the URL of the relay with a name.
func URL(name string) grasp.RelayURL { return grasp.RelayURL("ws://" + name) }

// End stops all graspds that run.
func (w *World) End() {
	w.t.Helper()
	for _, g := range w.all {
		g.Stop()
	}
}

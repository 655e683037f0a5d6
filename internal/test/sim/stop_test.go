package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
)

// TestStopsWhateverTheNetworkDoes: the binary's own dialer, sessions and goodbyes, with everything that a network can do
// at the moment of the stop. Stop itself requires that it takes less than ten seconds.
func TestStopsWhateverTheNetworkDoes(t *testing.T) {
	for name, trouble := range map[string]func(*sim.Host){
		"nothing":    func(*sim.Host) {},
		"swallowed":  func(h *sim.Host) { h.Set(sim.Swallows); h.Cut() },
		"refused":    func(h *sim.Host) { h.Set(sim.Refuses); h.Cut() },
		"unresolved": func(h *sim.Host) { h.Set(sim.Unresolved); h.Cut() },
		"stalled":    func(h *sim.Host) { h.Stall(true) },
		"cut":        func(h *sim.Host) { h.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			for _, at := range []time.Duration{0, 300 * time.Millisecond, 8 * time.Second, 40 * time.Second} {
				bubble(t, func(t *testing.T, w *sim.World) {
					a := w.Graspd("a.example.org", sim.Options{})
					b := w.Graspd("b.example.org", sim.Options{Bootstrap: []grasp.RelayURL{a.URL}, Private: true})
					a.Start()
					ann := announce(w, 1, "proj", a.URL, b.URL)
					events := []*nostr.Event{ann}
					for i := range 60 {
						events = append(events, issue(w, 2, ann, fmt.Sprint("issue ", i)))
					}
					for _, e := range events {
						a.Publish(e)
					}
					b.Start()
					wait(at)
					host := w.Net.Host(a.Name)
					trouble(host)
					if at == 8*time.Second { // the trouble is noticed
						wait(time.Second)
					}
					b.Stop()
					host.Set(sim.Fine)
					host.Stall(false)
					b.Start()
					wait(10 * time.Minute)
					b.WantStored(events...)
				})
			}
		})
	}
}

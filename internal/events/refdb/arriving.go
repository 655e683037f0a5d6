package refdb

import (
	"sync"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// arriving counts the fetches under way of each repository and event. Meanwhile neither the wait of such an event ends, nor the waits of the
// announcements that the event is about.
type arriving struct {
	mu     sync.Mutex
	events map[nostr.ID]int
	names  map[string]int
}

// Fetching counts a fetch of what a repository lacks, by 1 as it begins and by -1 as it ends. Any goroutine may call Fetching.
func (l *Ledger) Fetching(x Lack, n int) { l.arriving.add(x, n) }

// Keeps reports whether an event goes on waiting though its time is over, because its git data is on its way here.
func (l *Ledger) Keeps(e *nostr.Event) bool { return l.arriving.has(e) }

func (a *arriving) add(l Lack, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.events == nil {
		a.events, a.names = map[nostr.ID]int{}, map[string]int{}
	}
	for _, x := range l.Needs {
		if x.Came != 0 {
			count(a.events, x.Event, n)
			count(a.names, l.Of.D, n)
		}
	}
}

func count[K comparable](m map[K]int, k K, n int) {
	if m[k] += n; m[k] == 0 {
		delete(m, k)
	}
}

func (a *arriving) has(e *nostr.Event) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.events[e.ID] > 0 || e.Kind == nip34.KindRepository && a.names[e.Tags.D()] > 0
}

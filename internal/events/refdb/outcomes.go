package refdb

import (
	"sync"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Outcome is what a commit means for an upload, or that its time is over.
type Outcome struct {
	Upload uint64
	Event  nostr.ID      // came, and the upload has its tip; zero: the upload waits for nothing any more
	Of     nip34.Address // where the tip goes
}

// outcomes has those that nobody has taken. The bounds of uploads bound them.
type outcomes struct {
	mu   sync.Mutex
	list []Outcome
	wake chan struct{} // has a value when there are more
}

func (o *outcomes) put(x Outcome) {
	o.mu.Lock()
	o.list = append(o.list, x)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Outcomes takes what commits and time have meant for uploads since the last call, oldest first. Any goroutine may call Outcomes.
func (l *Ledger) Outcomes() []Outcome {
	l.outcomes.mu.Lock()
	defer l.outcomes.mu.Unlock()
	list := l.outcomes.list
	l.outcomes.list = nil
	return list
}

// MoreOutcomes has a value when there may be more Outcomes, for one reader.
func (l *Ledger) MoreOutcomes() <-chan struct{} { return l.outcomes.wake }

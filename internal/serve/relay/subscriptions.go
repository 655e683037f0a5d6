package relay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/graspd/graspd/internal/events/store"
)

// subscriptions has a client's open REQs, and the live events that wait for the client. The reader opens and closes subscriptions, the
// dispatcher delivers, and the writer sends.
type subscriptions struct {
	writer  bell          // rung when there is something to send
	allLive *atomic.Int64 // bytes of the live events that wait in all sessions

	mu          sync.Mutex
	byID        map[string]*subscription // the open subscriptions
	waiting     []*subscription          // subscriptions whose stored events are still to be sent, in the order of their REQs
	scanning    *subscription            // the subscription whose stored events are being sent
	filterBytes int                      // sum of the costs of byID
	live        liveQueue
}

func newSubscriptions(writer bell, allLive *atomic.Int64) *subscriptions {
	return &subscriptions{writer: writer, allLive: allLive, byID: map[string]*subscription{}}
}

// get returns the open subscription with that id; nil where there is none.
func (o *subscriptions) get(id string) *subscription {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byID[id]
}

// count returns how many subscriptions are open.
func (o *subscriptions) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.byID)
}

// shows notes up to which entry the stored part of a subscription shows everything.
func (o *subscriptions) shows(sub *subscription, upTo store.Seq) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sub.after = upTo
}

// goLive makes a subscription live after its stored events. It returns false where the client has closed the subscription meanwhile.
func (o *subscriptions) goLive(sub *subscription) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	sub.live = !sub.closed
	return sub.live
}

// add opens a subscription, and queues it for the writer to send its stored events.
func (o *subscriptions) add(sub *subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byID[sub.id] = sub
	o.filterBytes += sub.cost
	o.waiting = append(o.waiting, sub)
	o.writer.ring()
}

// refuse says which bound of the connection a subscription would break; "" for none. The answer stays true until the reader opens a
// subscription, as nobody else calls refuse and opens subscriptions.
func (o *subscriptions) refuse(sub *subscription, most int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case len(o.byID) >= most:
		return fmt.Sprintf("blocked: too many subscriptions: at most %d at once, close one first", most)
	case o.filterBytes+sub.cost > maxFilterBytes:
		return "blocked: too many subscriptions: their filters fill the memory set aside for a connection, close one first"
	}
	return ""
}

// detach ends a subscription and reports whether it was open.
func (o *subscriptions) detach(sub *subscription) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if sub.closed {
		return false
	}
	delete(o.byID, sub.id)
	sub.closed = true
	o.filterBytes -= sub.cost
	if sub.cancel != nil {
		sub.cancel()
	}
	o.waiting = slices.DeleteFunc(o.waiting, func(w *subscription) bool { return w == sub })
	return true
}

// isClosed reports whether the subscription has ended, so that the writer sends nothing more for it.
func (o *subscriptions) isClosed(sub *subscription) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return sub.closed
}

// list returns the open subscriptions in the order of their ids.
func (o *subscriptions) list() []*subscription {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.SortedFunc(maps.Values(o.byID), func(a, b *subscription) int { return strings.Compare(a.id, b.id) })
}

// nextWaiting takes the subscription that has waited the longest; nil where none waits.
func (o *subscriptions) nextWaiting() *subscription {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return nil
	}
	sub := o.waiting[0]
	o.waiting = o.waiting[1:]
	return sub
}

// beginScan notes cancel, so that a CLOSE ends the scan.
func (o *subscriptions) beginScan(sub *subscription, cancel context.CancelFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.scanning, sub.cancel = sub, cancel
	if sub.closed {
		cancel()
	}
}

// releaseDeferred ends the scan. The live events that came meanwhile join the queue, but for those that the view showed.
func (o *subscriptions) releaseDeferred() {
	o.mu.Lock()
	defer o.mu.Unlock()
	sub := o.scanning
	o.scanning, sub.cancel = nil, nil
	for _, d := range o.live.deferred {
		if sub.closed || d.event.seq <= sub.after {
			o.countLive(-len(d.event.json))
			continue
		}
		o.live.ready.Push(d)
	}
	o.live.deferred = nil
}

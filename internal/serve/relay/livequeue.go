package relay

import (
	"github.com/graspd/graspd/internal/base/fifo"
	"github.com/graspd/graspd/internal/events/store"
)

const (
	maxLiveEvents = 1024    // deliveries that may wait for one session; beyond, the session reads the store instead
	maxLiveBytes  = 1 << 20 // bytes of these deliveries
)

// delivery is one event for one subscription.
type delivery struct {
	event *liveEvent
	sub   *subscription
	maybe bool // the writer is to find out whether the subscription wants it
}

// liveQueue holds the deliveries that the dispatcher found for a session and the writer has not sent yet. When the queue is full, or
// very many of the session's filters would have to be looked at, the session lags: the dispatcher notes only the last event that concerns the session, and the writer itself reads the feed, from the end of
// the queue to that event.
type liveQueue struct {
	ready    fifo.Queue[delivery]
	deferred []delivery // for the subscription whose stored events are being sent
	bytes    int
	lagged   bool
	upTo     store.Seq // entries up to this one are queued or sent, or the writer has read them; kept while lagging and after
	missed   store.Seq // the newest entry that was not queued
}

func (q *liveQueue) full() bool {
	return q.ready.Len()+len(q.deferred) >= maxLiveEvents || q.bytes >= maxLiveBytes
}

// deliver queues an event for some subscriptions of the session; where the session is to find out itself which want it, the session lags from
// there on. Only the dispatcher calls deliver, which does not wait. It queues the event for all of these subscriptions or for none, so that no
// entry reaches a lagging session both by the queue and by the feed.
func (o *subscriptions) deliver(ev *liveEvent, hits []hit, itself bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := &o.live
	switch {
	case ev.seq <= q.upTo:
		return
	case q.lagged:
		q.missed = ev.seq
		return
	case itself || q.full():
		q.lagged, q.upTo, q.missed = true, ev.seq-1, ev.seq
	}
	for _, h := range hits {
		sub := h.sub
		if q.lagged || sub.closed || ev.seq <= sub.after {
			continue
		}
		o.countLive(len(ev.json))
		if sub == o.scanning {
			q.deferred = append(q.deferred, delivery{ev, sub, h.maybe})
		} else {
			q.ready.Push(delivery{ev, sub, h.maybe})
		}
	}
	o.writer.ring()
}

// nextLive takes the delivery that has waited the longest.
func (o *subscriptions) nextLive() (delivery, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.live.ready.Len() == 0 {
		return delivery{}, false
	}
	d := o.live.ready.Pop()
	o.countLive(-len(d.event.json))
	return d, true
}

// countLive counts bytes that join the queue, or leave it where the number is negative. The caller holds mu.
func (o *subscriptions) countLive(bytes int) {
	o.live.bytes += bytes
	o.allLive.Add(int64(bytes))
}

// discardLive forgets the queue of a session that has ended.
func (o *subscriptions) discardLive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.live.deferred {
		o.countLive(-len(d.event.json))
	}
	o.live.deferred = nil
	for o.live.ready.Len() > 0 {
		o.countLive(-len(o.live.ready.Pop().event.json))
	}
}

// lagging returns the position from which a lagging session goes on, and the session's live subscriptions; none when it does not lag.
func (o *subscriptions) lagging() (store.Seq, []*subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.live.lagged || o.live.ready.Len() > 0 {
		return 0, nil
	}
	var subs []*subscription
	for _, sub := range o.byID {
		if sub.live {
			subs = append(subs, sub)
		}
	}
	if len(subs) == 0 {
		o.live.lagged = false
	}
	return o.live.upTo, subs
}

// caughtUp notes up to which entry the writer has read; atEnd says that it has read to the end of the feed. It fails with tooSlow where the
// session still lags and that entry is before oldest.
func (o *subscriptions) caughtUp(upTo store.Seq, atEnd bool, oldest store.Seq) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := &o.live
	q.upTo = upTo
	if atEnd {
		q.upTo = max(upTo, q.missed)
	}
	if q.missed <= q.upTo {
		q.lagged = false
		return nil
	}
	if q.upTo < oldest {
		return tooSlow
	}
	return nil
}

// liveWaits reports whether a delivery waits.
func (o *subscriptions) liveWaits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.live.ready.Len() > 0
}

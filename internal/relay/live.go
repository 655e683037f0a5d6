package relay

import (
	"github.com/graspd/graspd/internal/fifo"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/store"
)

const (
	maxLiveEvents = 1024    // deliveries that wait for one session, beyond which it reads the store instead
	maxLiveBytes  = 1 << 20 // and their bytes
	liveTurn      = 64      // deliveries that are sent before other work has its turn
)

// delivery is one event for one subscription.
type delivery struct {
	event *liveEvent
	sub   *subscription
}

// liveQueue is the deliveries that the dispatcher found for a session and the writer has not sent yet. When the queue is full the session
// lags: the dispatcher notes only the last event that concerns the session, and the writer itself reads the feed, from where the queue
// ended to that event.
type liveQueue struct {
	ready    fifo.Queue[delivery]
	deferred []delivery // of the subscription whose stored events are being sent
	bytes    int
	lagged   bool
	upTo     store.Seq // entries up to this one are queued, sent or were read by the writer; kept while lagging and after
	missed   store.Seq // the newest entry that was not queued
}

func (q *liveQueue) full() bool {
	return q.ready.Len()+len(q.deferred) >= maxLiveEvents || q.bytes >= maxLiveBytes
}

// deliver queues an event for some subscriptions of the session. Only the dispatcher calls it, and it does not wait. It queues the event for
// all of them or for none, so that no entry reaches a lagging session both by the queue and by the feed.
func (s *session) deliver(ev *liveEvent, subs []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.live
	switch {
	case ev.seq <= q.upTo:
		return
	case q.lagged:
		q.missed = ev.seq
		return
	case q.full():
		q.lagged, q.upTo, q.missed = true, ev.seq-1, ev.seq
	}
	for _, sub := range subs {
		if q.lagged || sub.closed || ev.seq <= sub.after {
			continue
		}
		s.countLive(len(ev.json))
		if sub == s.scanning {
			q.deferred = append(q.deferred, delivery{ev, sub})
		} else {
			q.ready.Push(delivery{ev, sub})
		}
	}
	s.wake.ring()
}

func (s *session) nextLive() (delivery, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live.ready.Len() == 0 {
		return delivery{}, false
	}
	d := s.live.ready.Pop()
	s.countLive(-len(d.event.json))
	return d, true
}

// countLive counts bytes that join the queue, or leave it where negative. The caller holds mu.
func (s *session) countLive(bytes int) {
	s.live.bytes += bytes
	s.relay.liveBytes.Add(int64(bytes))
}

// discardLive forgets the queue of a session that has ended.
func (s *session) discardLive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.live.deferred {
		s.countLive(-len(d.event.json))
	}
	s.live.deferred = nil
	for s.live.ready.Len() > 0 {
		s.countLive(-len(s.live.ready.Pop().event.json))
	}
}

// sendLive sends some of the queue and reports whether there was anything.
func (s *session) sendLive() (busy bool, err error) {
	for range liveTurn {
		d, ok := s.nextLive()
		if !ok {
			break
		}
		busy = true
		if err := s.sendEvent(d.sub, d.event.json); err != nil {
			return busy, orGoodbye(err)
		}
	}
	if !busy {
		return false, nil
	}
	return true, s.flush()
}

// catchUp reads the next entries of the feed for a session that lags, once its queue is empty, and reports whether it did. No scan is under
// way then, as the writer does one after the other.
func (s *session) catchUp() (busy bool, err error) {
	from, subs := s.lagging()
	if len(subs) == 0 {
		return false, nil
	}
	entries, _, err := s.relay.store.Since(from, liveTurn)
	if err != nil {
		s.relay.logger.Error("stored events cannot be read for subscriptions", "error", err)
		return false, brokenInside
	}
	upTo := from
	for _, e := range entries {
		if upTo = e.Seq; e.Event == nil {
			continue
		}
		if err := s.sendMatching(e.Seq, e.Event, subs); err != nil {
			return false, err
		}
	}
	if err := s.flush(); err != nil {
		return true, err
	}
	return true, s.caughtUp(upTo, len(entries) == 0)
}

// lagging gives the position from which a lagging session goes on, and its live subscriptions; none when it does not lag.
func (s *session) lagging() (store.Seq, []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live.lagged || s.live.ready.Len() > 0 {
		return 0, nil
	}
	var subs []*subscription
	for _, sub := range s.subs {
		if sub.live {
			subs = append(subs, sub)
		}
	}
	if len(subs) == 0 {
		s.live.lagged = false
	}
	return s.live.upTo, subs
}

func (s *session) sendMatching(seq store.Seq, e *nostr.Event, subs []*subscription) error {
	x := newSubject(e)
	var json []byte
	for _, sub := range subs {
		if seq <= sub.after || !sub.matches(x) {
			continue
		}
		if json == nil {
			json = e.AppendJSON(nil)
		}
		if err := s.answer(); err != nil {
			return err
		}
		if err := s.sendEvent(sub, json); err != nil {
			return orGoodbye(err)
		}
	}
	return nil
}

// caughtUp notes how far the writer has read; with atEnd to the end of the feed. It fails with tooSlow where the session is too far behind.
func (s *session) caughtUp(upTo store.Seq, atEnd bool) error {
	head := s.relay.store.Head()
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.live
	q.upTo = upTo
	if atEnd {
		q.upTo = max(upTo, q.missed)
	}
	if q.missed <= q.upTo {
		q.lagged = false
		return nil
	}
	if head > q.upTo+s.relay.maxLag {
		return tooSlow
	}
	return nil
}

package relay

import (
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	liveTurn     = 64 // deliveries that sendLive sends before other work has its turn
	looksPerStep = 8  // filters that a session that lags looks at in one step
)

// sendLive sends some of the queue and reports whether there was anything.
func (s *session) sendLive() (busy bool, err error) {
	s.turn.begin()
	for range liveTurn {
		d, ok := s.subs.nextLive()
		if !ok {
			break
		}
		busy = true
		if d.maybe && !s.subs.isClosed(d.sub) {
			if wanted, err := s.matches(d.sub, d.event.subject); err != nil {
				return busy, err
			} else if !wanted {
				continue
			}
		}
		if err := s.sendEvent(d.sub, d.event.json); err != nil {
			return busy, orGoodbye(err)
		}
	}
	if !busy {
		return false, nil
	}
	return true, s.flush()
}

// catchUp reads the next entries of the feed for a session that lags, once the session's queue is empty, and reports whether it read any. No
// scan is under way meanwhile, as the writer does one after the other.
func (s *session) catchUp() (busy bool, err error) {
	from, subs := s.subs.lagging()
	if len(subs) == 0 {
		return false, nil
	}
	s.turn.begin()
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
	head, lag := s.relay.store.Head(), s.relay.maxLag
	return true, s.subs.caughtUp(upTo, len(entries) == 0, max(head, lag)-lag)
}

func (s *session) sendMatching(seq store.Seq, e *nostr.Event, subs []*subscription) error {
	looks := 0
	for _, sub := range subs {
		looks += len(sub.filters)
	}
	if err := s.bill(looks/looksPerStep + e.Size()/bytesOfStep); err != nil {
		return err
	}
	x := newSubject(e)
	var json []byte
	for _, sub := range subs {
		if seq <= sub.after {
			continue
		}
		if matches, err := s.matches(sub, x); err != nil {
			return err
		} else if !matches {
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

// matches reports whether one of the filters wants the event. For what takes work, the party pays first and waits for its turn.
func (s *session) matches(sub *subscription, x *subject) (bool, error) {
	for _, f := range sub.filters {
		if !f.near(x) {
			continue
		}
		if n := f.steps(x); n > stepsBeside {
			if err := s.bill(n); err != nil {
				return false, err
			}
		}
		if f.meets(x) {
			return true, nil
		}
	}
	return false, nil
}

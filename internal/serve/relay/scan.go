package relay

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// maxScan is how long the stored part of one REQ may take. It bounds how long a slow client holds a view of the store.
const maxScan = 5 * time.Minute

var (
	errScanTime = errors.New("the scan takes too long")
	errQuery    = errors.New("query stored events")
)

// scan sends the stored events of the subscription that has waited the longest, then EOSE, and makes the subscription live. It
// reports whether there was one.
//
// The client misses no event between the stored and the live ones: the session defers live events of the subscription from before it takes
// the view, and after the scan drops those that the view shows.
func (s *session) scan(work context.Context) (busy bool, err error) {
	sub := s.subs.nextWaiting()
	if sub == nil {
		return false, nil
	}
	limited, cancel := context.WithTimeoutCause(work, maxScan, errScanTime)
	defer cancel()
	if err := s.answerREQ(work, limited, cancel, sub); err != nil {
		return true, err
	}
	return true, s.flush()
}

func (s *session) answerREQ(work, limited context.Context, cancel context.CancelFunc, sub *subscription) error {
	defer s.endScan(sub)
	s.subs.beginScan(sub, cancel)
	s.relay.dispatcher.add(sub)
	if err := s.sendStored(limited, sub); err != nil {
		return s.scanFailed(work, limited, sub, err)
	}
	return s.sendEOSE(sub)
}

// endScan cleans up after a scan, however it ended.
func (s *session) endScan(sub *subscription) {
	if s.subs.isClosed(sub) {
		s.relay.dispatcher.remove(sub)
	}
	s.subs.releaseDeferred()
}

// scanFailed ends the subscription after its scan has failed, and tells the client why; or it returns the error that ends the session.
func (s *session) scanFailed(work, limited context.Context, sub *subscription, err error) error {
	reason := "error: internal"
	switch {
	case work.Err() != nil:
		return context.Cause(work)
	case errors.Is(err, errGone):
		return err
	case s.subs.isClosed(sub):
		return nil
	case errors.Is(context.Cause(limited), errScanTime):
		reason = "error: sending the stored events took too long; ask for less"
	case errors.Is(err, errCostly):
		reason = "error: finding the stored events takes too much work; ask for less"
	case errors.Is(err, errLarge):
		reason = "rate-limited: too many large events are being sent to your address; ask again"
	case errors.Is(err, errQuery):
		s.relay.logger.Error("stored events cannot be read", "error", err)
	default:
		return err
	}
	if !s.drop(sub) {
		return nil
	}
	s.buf = nostr.AppendClosed(s.buf[:0], sub.id, reason)
	return s.send(s.buf)
}

// sendStored sends the stored events of all filters, each event once.
func (s *session) sendStored(limited context.Context, sub *subscription) error {
	view := s.relay.store.View()
	defer view.Close()
	s.turn.begin()
	bill := s.pay.slowed(limited, s.relay.limits.ScanWork, s.turn)
	metered := view.Metered(bill)
	s.subs.shows(sub, view.Head())
	var sent map[store.Seq]struct{}
	if len(sub.filters) > 1 {
		sent = map[store.Seq]struct{}{}
	}
	for _, f := range sub.filters {
		if *f.Limit == 0 {
			continue
		}
		err := stored(limited, metered, bill, f.Filter, func(row store.Row) error {
			if _, twice := sent[row.Seq]; twice {
				return nil
			}
			if sent != nil {
				sent[row.Seq] = struct{}{}
			}
			return s.sendRow(limited, sub, row.JSON)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sendRow sends one stored event, after whatever else has become due: so other subscriptions do not wait for this one, and
// a CLOSE for this one takes effect here.
func (s *session) sendRow(limited context.Context, sub *subscription, json []byte) error {
	if s.due() {
		if err := s.answer(); err != nil {
			return err
		}
		if _, err := s.sendLive(); err != nil {
			return err
		}
	}
	if limited.Err() != nil { // a CLOSE cancels limited
		return context.Cause(limited)
	}
	return s.sendStill(sub, json)
}

// due reports whether there is something to send besides stored events.
func (s *session) due() bool {
	return s.subs.liveWaits() || s.out.ready()
}

func (s *session) sendEOSE(sub *subscription) error {
	if !s.subs.goLive(sub) {
		return nil
	}
	s.buf = nostr.AppendEOSE(s.buf[:0], sub.id)
	return s.send(s.buf)
}

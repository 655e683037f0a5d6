package relay

import (
	"errors"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds in bytes of events above largeEvent bytes, which are states with many branches and tags. A session sends one of them at a time.
const (
	largeEvent        = 256 << 10
	allLargeBytes     = 64 << 20 // of large events that are being sent to all clients
	addressLargeBytes = 16 << 20 // the part of one address
)

var (
	// errLarge says that there is no room for another large event.
	errLarge = errors.New("too many large events are being sent")

	largeNeeded = &goodbye{code: websocket.StatusTryAgainLater, text: "rate-limited: too many large events at once are for your address; connect again"}
)

// sendLarge sends a large event. Meanwhile there are two copies of the event in memory.
func (s *session) sendLarge(sub *subscription, json []byte) error {
	room, _, instead := s.relay.pools.large.Try(s.visitor.Party(), 2*int64(len(json)))
	if room == nil && instead != nil {
		instead.Oust()
	}
	if room == nil {
		return errLarge
	}
	defer room.GiveBack()
	room.Revocable(func() { s.end(largeNeeded) })
	s.buf = nostr.AppendRelayEvent(s.buf[:0], sub.id, nil)
	last := len(s.buf) - 1
	s.relay.counts.events.Add(1)
	return s.send(s.buf[:last], json, s.buf[last:])
}

// orGoodbye turns errLarge into a goodbye, as the client would otherwise miss a live event.
func orGoodbye(err error) error {
	if errors.Is(err, errLarge) {
		return largeNeeded
	}
	return err
}

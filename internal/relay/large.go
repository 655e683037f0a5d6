package relay

import (
	"errors"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/nostr"
)

// Bounds of events above largeEvent bytes, which are states of many branches and tags. A client is sent one of them at a time.
const (
	largeEvent        = 256 << 10
	allLargeBytes     = 64 << 20 // of large events that are being sent
	addressLargeBytes = 16 << 20
)

var (
	// errLarge says that there is no room for another large event.
	errLarge = errors.New("too many large events are being sent")

	largeNeeded = &goodbye{code: websocket.StatusTryAgainLater, text: "rate-limited: too many large events at once are for your address; connect again"}
)

// sendLarge sends a large event, of which there are two copies in memory meanwhile.
func (s *session) sendLarge(sub *subscription, json []byte) error {
	room, _, instead := s.relay.pools.large.Try(s.visitor, 2*len(json))
	if room == nil && instead != nil {
		instead.Oust()
	}
	if room == nil {
		return errLarge
	}
	defer room.GiveBack()
	room.Shrink(2*len(json), func() { s.end(largeNeeded) })
	s.buf = nostr.AppendRelayEvent(s.buf[:0], sub.id, nil)
	last := len(s.buf) - 1
	s.relay.counts.events.Add(1)
	return s.send(s.buf[:last], json, s.buf[last:])
}

// orGoodbye turns errLarge into a goodbye, as the client would miss a live event.
func orGoodbye(err error) error {
	if errors.Is(err, errLarge) {
		return largeNeeded
	}
	return err
}

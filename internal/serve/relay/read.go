package relay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/base/frames"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// hardLimit is from how many times the allowed size on a message ends the connection. The relay reads a smaller message that is too large,
// throws it away and answers it.
const hardLimit = 64

// progress counts what a client has sent, so that pings and idle see that the client is alive.
type progress struct {
	counter frames.Counter // owned by the reader
	seen    atomic.Int64   // messages read
	bytes   atomic.Int64   // bytes that have come
	reading atomic.Bool    // the reader waits for a frame
	pinging atomic.Bool    // a ping is under way
}

// read takes frames until the connection or work ends.
func (s *session) read(ctx, work context.Context) error {
	for work.Err() == nil {
		if err := s.readOne(ctx, work); err != nil {
			return err
		}
	}
	return context.Cause(work)
}

// frameCost is how many bytes a frame, and one read of the connection, count for besides the bytes that they bring: a frame without a payload
// is work too, and so is a byte that comes alone.
const frameCost = 64

// received counts bytes that one read has brought from the client.
func (s *session) received(b []byte) {
	s.frames.bytes.Add(int64(len(b)))
	seen := s.frames.counter.See(b)
	s.visitor.Received(len(b) + frameCost*(1+seen.Messages+seen.Others))
}

// readOne takes one frame and does what it asks.
func (s *session) readOne(ctx, work context.Context) error {
	s.frames.reading.Store(true)
	kind, r, err := s.conn.Reader(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	m := s.begin()
	defer m.end()
	frame, whole, err := m.read(work, r, s.relay.limits.MessageBytes)
	s.frames.reading.Store(false)
	s.frames.seen.Add(1)
	s.relay.counts.frames.Add(1)
	s.relay.counts.bytesIn.Add(uint64(len(frame)))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errGone, err)
	case kind != websocket.MessageText:
		if err := s.pay.pace(work); err != nil {
			return err
		}
		return s.out.reply(work, nostr.AppendNotice(nil, "invalid: binary messages are not understood; send text"))
	case !whole:
		return s.tooLarge(work, frame)
	}
	return s.handle(work, m, frame)
}

// tooLarge answers a message that is too large, by what its beginning shows.
func (s *session) tooLarge(work context.Context, beginning []byte) error {
	if err := s.pay.pace(work); err != nil {
		return err
	}
	reason := fmt.Sprintf("invalid: message too large: at most %d bytes", s.relay.limits.MessageBytes)
	_, err := nostr.ParseClient(beginning)
	bad, ok := errors.AsType[*nostr.MessageError](err)
	if !ok {
		return s.out.reply(work, nostr.AppendNotice(nil, reason))
	}
	bad.Reason = reason
	return s.malformed(work, bad)
}

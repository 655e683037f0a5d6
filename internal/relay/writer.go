package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"graspd/internal/nostr"
)

const (
	writeTimeout = 20 * time.Second // for one frame
	pingEvery    = 30 * time.Second
	pingTimeout  = 60 * time.Second
	stallTime    = 200 * time.Millisecond
	goodbyeTime  = 2 * time.Second // for what is still owed when the relay ends a session
	keepBuffer   = 16 << 10        // larger buffers are not kept between frames
)

// write sends the challenge (NIP-42), so that no refusal for want of authentication comes before it, and then what there is
// to send until the connection or work ends, and returns why.
func (s *session) write(ctx, work context.Context) error {
	if err := s.send(ctx, nostr.AppendAuthChallenge(nil, s.who.challenge)); err != nil {
		return err
	}
	ping := time.NewTicker(s.relay.ping)
	defer ping.Stop()
	for work.Err() == nil {
		busy, err := s.turn(ctx, work)
		if err != nil {
			return err
		}
		if busy {
			continue
		}
		if cap(s.buf) > keepBuffer {
			s.buf = nil
		}
		select {
		case <-s.wake:
		case <-ping.C:
			if s.tick(ctx); s.idle(time.Now()) {
				return s.relay.limits.tooQuiet()
			}
		case <-work.Done():
		}
	}
	return context.Cause(work)
}

// turn does some of everything that is due, and reports whether there was anything that may leave more to do.
func (s *session) turn(ctx, work context.Context) (busy bool, err error) {
	if err := s.answer(ctx); err != nil {
		return false, err
	}
	sent, err := s.sendLive(ctx)
	if err != nil {
		return false, err
	}
	scanned, err := s.scan(ctx, work)
	if err != nil {
		return false, err
	}
	read, err := s.catchUp(ctx)
	return sent || scanned || read, err
}

// sendEvent sends an event for a subscription that is still open.
func (s *session) sendEvent(ctx context.Context, sub *subscription, json []byte) error {
	if s.isClosed(sub) {
		return nil
	}
	s.buf = nostr.AppendRelayEvent(s.buf[:0], sub.id, json)
	s.relay.counts.events.Add(1)
	return s.send(ctx, s.buf)
}

// send writes one frame. A client that does not take it in time loses the connection.
func (s *session) send(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	s.frames.sending.Store(time.Now().UnixNano())
	defer s.frames.sending.Store(0)
	if err := s.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	s.relay.counts.bytesOut.Add(uint64(len(frame)))
	return nil
}

// stalled reports whether a frame is being sent and does not get through. A pong would wait behind it, and the library gives
// up the connection where that takes 5 s; the client sees no pong meanwhile either way.
func (s *session) stalled() bool {
	since := s.frames.sending.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > stallTime
}

// tick keeps the connection alive, and forgets reconciliations that nobody goes on with.
func (s *session) tick(ctx context.Context) {
	for _, sub := range s.relay.reconciles.expire(s, s.relay.now()) {
		s.post(nostr.AppendNegErr(nil, sub, "closed: idle for too long; open it again", 0))
	}
	if s.frames.pinging.CompareAndSwap(false, true) {
		s.pings.Go(func() { s.ping(ctx) })
	}
}

// ping waits for the answer to a ping, and ends the connection when none comes while the reader does nothing but wait.
func (s *session) ping(ctx context.Context) {
	defer s.frames.pinging.Store(false)
	seen := s.frames.seen.Load()
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.conn.Ping(ctx)
	if err != nil && ctx.Err() != nil && s.frames.reading.Load() && s.frames.seen.Load() == seen {
		s.conn.CloseNow()
	}
}

// farewell ends the connection. A client that the relay sends away hears what it is still owed, and why it has to go.
func (s *session) farewell(ctx context.Context, cause error) {
	bye, ok := errors.AsType[*goodbye](cause)
	if !ok {
		s.conn.CloseNow()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, goodbyeTime)
	defer cancel()
	if err := s.lastWords(ctx, bye); err != nil {
		s.conn.CloseNow()
		return
	}
	s.conn.Close(bye.code, bye.text)
}

// lastWords sends the OKs that come within half of the time, and ends the subscriptions.
func (s *session) lastWords(ctx context.Context, bye *goodbye) error {
	patience := time.NewTimer(goodbyeTime / 2)
	defer patience.Stop()
	for waiting := true; waiting; {
		if err := s.answer(ctx); err != nil {
			return err
		}
		if !s.undecided() {
			break
		}
		select {
		case <-s.wake:
		case <-patience.C:
			waiting = false
		}
	}
	for _, sub := range s.open() {
		if err := s.send(ctx, nostr.AppendClosed(nil, sub.id, "error: "+bye.text)); err != nil {
			return err
		}
	}
	return nil
}

package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	pingEvery   = 30 * time.Second
	pingTimeout = 60 * time.Second
	goodbyeTime = 2 * time.Second        // how long the writer sends what it still owes when the relay ends a session
	closeTime   = 500 * time.Millisecond // how long it then waits for the client's part of the closing: whoever is gone, or silent, keeps the relay from ending
	keepBuffer  = 16 << 10               // the largest buffer that the writer keeps between frames
)

// write sends whatever there is to send until the connection or work ends, and returns why. On a private relay the challenge (NIP-42) comes
// first, as nobody gets anything there without it.
func (s *session) write(ctx, work context.Context) error {
	defer s.turn.giveBack()
	if s.relay.members != nil {
		if err := errors.Join(s.challenge(), s.flush()); err != nil {
			return err
		}
	}
	ping := time.NewTicker(s.relay.ping)
	defer ping.Stop()
	for work.Err() == nil {
		busy, err := s.round(work)
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

// round does some of everything that is due, and reports whether there may be more to do.
func (s *session) round(work context.Context) (busy bool, err error) {
	if err := s.answer(); err != nil {
		return false, err
	}
	sent, err := s.sendLive()
	if err != nil {
		return false, err
	}
	scanned, err := s.scan(work)
	if err != nil {
		return false, err
	}
	read, err := s.catchUp()
	return sent || scanned || read, err
}

// answer sends what the outbox has ready.
func (s *session) answer() error {
	for sent := false; ; sent = true {
		v, frame := s.out.next()
		switch {
		case v != nil:
			if strings.HasPrefix(v.Reason, "auth-required:") {
				if err := s.challenge(); err != nil {
					return err
				}
			}
			s.buf = nostr.AppendOK(s.buf[:0], v.id, v.OK(), v.Reason)
			if err := s.send(s.buf); err != nil {
				return err
			}
			if v.size > 0 {
				s.source.Release(v.size)
			}
		case frame != nil:
			if err := s.send(frame); err != nil {
				return err
			}
		case sent:
			return s.flush()
		default:
			return nil
		}
	}
}

// challenge sends the challenge, once. A client without a key may take a challenge for the end of all that it has asked for, so on a public relay
// only those get one who need it.
func (s *session) challenge() error {
	if s.challenged {
		return nil
	}
	s.challenged = true
	return s.send(nostr.AppendAuthChallenge(nil, s.who.challenge))
}

// sendEvent sends an event for a subscription that is still open.
func (s *session) sendEvent(sub *subscription, json []byte) error {
	if s.subs.isClosed(sub) {
		return nil
	}
	return s.sendStill(sub, json)
}

// sendStill sends an event for a subscription that the caller knows to be open.
func (s *session) sendStill(sub *subscription, json []byte) error {
	if len(json) > largeEvent {
		return s.sendLarge(sub, json)
	}
	s.buf = nostr.AppendRelayEvent(s.buf[:0], sub.id, json)
	s.relay.counts.events.Add(1)
	return s.send(s.buf)
}

// send writes one frame, given in parts. The frame waits for flush, unless corkBytes wait already. The cork bounds the time that the client may
// take.
func (s *session) send(parts ...[]byte) error {
	full, err := s.cork.hold(parts...)
	if err == nil && full {
		s.turn.giveBack()
		err = s.cork.drain()
	}
	if err != nil {
		return gone(err)
	}
	for _, p := range parts {
		s.relay.counts.bytesOut.Add(uint64(len(p)))
	}
	return nil
}

// flush sends the waiting frames, and ends the writer's turn. The writer flushes after everything that the client should have at once.
func (s *session) flush() error {
	s.turn.giveBack()
	return gone(s.cork.release())
}

// gone wraps an error of the connection in errGone.
func gone(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

// tick keeps the connection alive, and forgets reconciliations that nobody goes on with.
func (s *session) tick(ctx context.Context) {
	for _, sub := range s.relay.reconciles.expire(s, s.relay.now()) {
		s.out.post(nostr.AppendNegErr(nil, sub, "closed: idle for too long; open it again", 0))
	}
	if s.frames.pinging.CompareAndSwap(false, true) {
		s.pings.Go(func() {
			if err := s.contained(func() error { s.ping(ctx); return nil }); err != nil {
				s.end(err)
			}
		})
	}
}

// ping waits for the answer to a ping. It ends the connection when no answer comes while the reader does nothing but wait. A
// client that takes frames slowly gets to the ping later, and so does a client that is still sending a message.
func (s *session) ping(ctx context.Context) {
	defer s.frames.pinging.Store(false)
	come, begun := s.frames.bytes.Load(), time.Now().UnixNano()
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.conn.Ping(ctx)
	if err != nil && ctx.Err() != nil && s.frames.reading.Load() && s.frames.bytes.Load() == come && s.cork.moved.Load() < begun {
		s.conn.CloseNow()
	}
}

// farewell ends the connection. A client that the relay sends away first gets what the writer still owes, and the reason.
func (s *session) farewell(cause error) {
	bye, ok := errors.AsType[*goodbye](cause)
	if !ok {
		s.conn.CloseNow()
		return
	}
	late := time.AfterFunc(goodbyeTime, func() { s.cork.Close() })
	err := s.lastWords(bye)
	if !late.Stop() || err != nil {
		s.conn.CloseNow()
		return
	}
	silent := time.AfterFunc(closeTime, func() { s.cork.Close() })
	defer silent.Stop()
	s.conn.Close(bye.code, bye.text)
}

// lastWords sends the OKs whose verdicts come within half of goodbyeTime, and a CLOSED for every subscription.
func (s *session) lastWords(bye *goodbye) error {
	patience := time.NewTimer(goodbyeTime / 2)
	defer patience.Stop()
	for waiting := true; waiting; {
		if err := s.answer(); err != nil {
			return err
		}
		if !s.out.owesOK() {
			break
		}
		select {
		case <-s.wake:
		case <-patience.C:
			waiting = false
		}
	}
	for _, sub := range s.subs.list() {
		if err := s.send(nostr.AppendClosed(nil, sub.id, "error: "+bye.text)); err != nil {
			return err
		}
	}
	return s.flush()
}

package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"

	"github.com/coder/websocket"
)

const (
	allMessageBytes     = 64 << 20 // bytes of all messages being read, beyond the first freeBytes of each
	addressMessageBytes = 8 << 20  // bytes of the messages of one address

	freeBytes   = 4 << 10                // the first bytes of a message, which count for neither bound; beyond, a message is parsed in a turn
	messageTime = time.Minute            // how long each MessageBytes of a message may take, once it has begun
	retryRoom   = 250 * time.Millisecond // the time between two tries for memory
)

var (
	unfinished   = &goodbye{code: websocket.StatusPolicyViolation, text: "too slow: a message has to be complete within a minute"}
	noMemory     = &goodbye{code: websocket.StatusTryAgainLater, text: "rate-limited: too many large messages at once from your address; connect again"}
	memoryNeeded = &goodbye{code: websocket.StatusTryAgainLater, text: "rate-limited: most of the large messages are of your address, and others need their memory"}
)

// incoming is the message that a session is reading. Its buffer grows as bytes come, within the bounds for all messages.
type incoming struct {
	session *session
	late    *time.Timer
	waits   atomic.Bool // the message waits for memory
	buf     *[]byte     // a buffer of freeBytes from the relay; nil after end
	memory  *fair.Grant // the grant for the bytes beyond freeBytes; nil while there are none
}

// begin prepares to read a message whose first bytes have come. The caller calls end afterwards.
func (s *session) begin() *incoming {
	m := &incoming{session: s, buf: s.relay.buffers.take()}
	m.late = time.AfterFunc(messageTime, m.tooLate)
	return m
}

func (m *incoming) tooLate() {
	if m.waits.Load() {
		m.session.end(noMemory)
		return
	}
	m.session.end(unfinished)
}

// end gives back the message's memory. Callers may call it more than once.
func (m *incoming) end() {
	m.late.Stop()
	if m.buf != nil {
		m.session.relay.buffers.give(m.buf, freeBytes)
		m.buf = nil
	}
	m.memory.GiveBack()
	m.memory = nil
}

// read reads a message of at most limit bytes, or stateMessage times as many where the message may bring a state. Of a longer message it
// returns the beginning, and false. The frame is valid until end.
func (m *incoming) read(work context.Context, r io.Reader, limit int) (frame []byte, whole bool, err error) {
	defer m.late.Stop()
	buf, most := *m.buf, limit
	for {
		if len(buf) == cap(buf) {
			if buf, err = m.grow(work, buf, most+1); err != nil {
				return buf, false, err
			}
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), most+1)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > most && most == limit && mayBeState(buf):
			most = stateMessage * limit
		case len(buf) > most:
			return buf[:limit], false, m.skip(r, limit)
		case errors.Is(err, io.EOF):
			return buf, true, nil
		case err != nil:
			return buf, false, err
		case len(buf)/limit > (len(buf)-n)/limit:
			m.late.Reset(messageTime)
		}
	}
}

// grow returns a buffer four times as large, with at most most bytes, once there is memory for it.
func (m *incoming) grow(work context.Context, buf []byte, most int) ([]byte, error) {
	size := 4 * cap(buf)
	if size > most/2 {
		size = most
	}
	if err := m.reserve(work, size-freeBytes); err != nil {
		return buf, err
	}
	return append(make([]byte, 0, size), buf...), nil
}

// reserve waits until the message has a grant of so many bytes. A wait longer than messageTime ends the session.
func (m *incoming) reserve(work context.Context, size int) error {
	s := m.session
	for {
		more, _, instead := s.relay.pools.messages.Try(s.visitor.Party(), int64(size))
		if more != nil {
			m.memory.GiveBack()
			m.memory = more
			more.Revocable(func() { s.end(memoryNeeded) })
			break
		}
		if instead != nil {
			instead.Oust()
		}
		if !m.waits.Swap(true) {
			m.late.Reset(messageTime)
		}
		if err := s.pay.patient(work, retryRoom); err != nil {
			return err
		}
	}
	if m.waits.Swap(false) {
		m.late.Reset(messageTime)
	}
	return nil
}

// skip reads the rest of a message that is too large, and forgets it.
func (m *incoming) skip(r io.Reader, limit int) error {
	for {
		m.late.Reset(messageTime)
		n, err := io.CopyN(io.Discard, r, int64(limit))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d bytes: %w", n, err)
		}
	}
}

// mayBeEvent reports whether a frame begins like an EVENT message. Events have their own rate.
func mayBeEvent(frame []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(frame, " \t\r\n"), []byte("["))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"EVENT"`))
}

// mayBeState reports whether a message with that beginning may bring a repository state. Most events have their kind before their tags. For
// an event that has not shown its kind yet it returns true, and the parser sees the kind later.
func mayBeState(beginning []byte) bool {
	kind, shown := nostr.EventKind(beginning)
	return kind == nip34.KindState || !shown && mayBeEvent(beginning)
}

package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"

	"github.com/coder/websocket"
)

const (
	allMessageBytes     = 64 << 20 // of messages that are being read, beyond the first freeBytes of each
	addressMessageBytes = 8 << 20  // of the messages of one address

	freeBytes    = 4 << 10                // of a message that count for neither bound
	largeMessage = 16 << 10               // from which on a message takes its address's turn to be parsed
	messageTime  = time.Minute            // for each MessageBytes of a message, once it has begun
	retryRoom    = 250 * time.Millisecond // between two tries for memory
)

var (
	unfinished   = &goodbye{code: websocket.StatusPolicyViolation, text: "too slow: a message has to be complete within a minute"}
	noMemory     = &goodbye{code: websocket.StatusTryAgainLater, text: "rate-limited: too many large messages at once from your address; connect again"}
	memoryNeeded = &goodbye{code: websocket.StatusTryAgainLater, text: "rate-limited: most of the large messages are of your address, and others need their memory"}
)

// incoming is the message that a session is reading. Its buffer grows as bytes come, within what all messages may have.
type incoming struct {
	session *session
	late    *time.Timer
	waits   atomic.Bool  // it waits for memory
	buf     *[]byte      // of freeBytes, from the relay; nil after the end
	memory  *front.Grant // of the bytes beyond freeBytes; nil while there are none
}

// begin prepares to read a message that has begun. The caller calls end.
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

// end gives back what the message holds. It may be called more than once.
func (m *incoming) end() {
	m.late.Stop()
	if m.buf != nil {
		m.session.relay.buffers.give(m.buf, freeBytes)
		m.buf = nil
	}
	m.memory.GiveBack()
	m.memory = nil
}

// read reads a message of at most limit bytes, or stateMessage times as many where it may bring a state. Of a longer message it gives the
// beginning, and false. The frame is valid until end.
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

// grow gives a buffer four times as large, once there is memory for it.
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

// reserve waits until so many bytes are granted to the message. The wait ends the session after messageTime.
func (m *incoming) reserve(work context.Context, size int) error {
	s := m.session
	for {
		more, _, instead := s.relay.pools.messages.Try(s.visitor, size)
		if more != nil {
			m.memory.GiveBack()
			m.memory = more
			more.Shrink(size, func() { s.end(memoryNeeded) })
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

// mayBeEvent reports whether a frame begins like an EVENT message. Events have a rate of their own.
func mayBeEvent(frame []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(frame, " \t\r\n"), []byte("["))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"EVENT"`))
}

// mayBeState reports whether a message with that beginning may bring a repository state. Most events show their kind before their tags. An
// event that does not is read on, and the parser sees its kind.
func mayBeState(beginning []byte) bool {
	kind, shown := nostr.EventKind(beginning)
	return kind == nip34.KindState || !shown && mayBeEvent(beginning)
}

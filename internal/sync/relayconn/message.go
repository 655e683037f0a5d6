package relayconn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"
)

// ErrTooLong says that Read has dropped a message longer than anything that was asked for. The connection lives on.
var ErrTooLong = errors.New("message longer than anything asked for")

// errDrip ends the connection of a relay that takes too long over a part of a message.
var errDrip = errors.New("a message that comes too slowly")

const (
	maxUnasked = 512 << 10 // bytes of a message that is no event, unless a large one was expected
	maxLarge   = 4         // messages that may be larger at a time
	part       = 100 << 10 // bytes of a message that have PartTime
	chunk      = 4 << 10   // bytes waited for at once
)

// ExpectLarge allows one more message to be as long as ReadLimit: the answer to a message of a reconciliation.
func (c *Conn) ExpectLarge() {
	select {
	case c.large <- struct{}{}:
	default:
	}
}

// takeLarge uses up one message that ExpectLarge has allowed, and reports whether there was one.
func (c *Conn) takeLarge() bool {
	select {
	case <-c.large:
		return true
	default:
		return false
	}
}

// collect reads a message. Its memory grows with the bytes that come, whatever length the relay claims.
func (c *Conn) collect(ctx context.Context, r io.Reader) ([]byte, error) {
	limit, b := min(maxUnasked, c.cfg.ReadLimit), c.scratch[:0]
	var next [1]byte
	for {
		into, full := b[len(b):min(cap(b), len(b)+chunk)], len(b) == cap(b)
		if full {
			into = next[:] // perhaps no more bytes come
		}
		n, err := r.Read(into)
		c.pace.came(n)
		switch {
		case err == io.EOF:
			c.scratch = b[:len(b)+n]
			c.room.done()
			return c.scratch, nil
		case err != nil:
			return nil, err
		case !full || n == 0:
			b = b[:len(b)+n]
			continue
		}
		if len(b) >= limit {
			if !begins(b, `"EVENT"`) && (!begins(b, `"NEG-`) || !c.takeLarge()) {
				c.drop()
				return nil, cmp.Or(c.discard(r), ErrTooLong)
			}
			limit = c.cfg.ReadLimit
		}
		if b, err = c.enlarge(ctx, b, limit); err != nil {
			return nil, err
		}
		b = append(b, next[0])
	}
}

// enlarge doubles the memory of a message, up to most bytes. Memory beyond smallMessage comes out of the room of all connections.
func (c *Conn) enlarge(ctx context.Context, b []byte, most int) ([]byte, error) {
	size := min(max(2*cap(b), 512), most)
	if more := size - max(cap(b), smallMessage); more > 0 && !c.room.ask(more) {
		c.pace.stop() // nobody waits for the relay now
		if err := c.room.wait(ctx); err != nil {
			return nil, err
		}
		c.pace.begin()
	}
	return append(make([]byte, 0, size), b...), nil
}

// begins reports whether a message begins with that verb, whatever space its JSON has. Only events, and messages of a reconciliation (NIP-77), may
// be long: states are, and another event has to be read in full once for its id to be remembered as refused for its size.
func begins(message []byte, verb string) bool {
	const space = " \t\r\n"
	inside, is := bytes.CutPrefix(bytes.TrimLeft(message, space), []byte("["))
	return is && bytes.HasPrefix(bytes.TrimLeft(inside, space), []byte(verb))
}

// drop gives back the memory of a message that was larger than smallMessage.
func (c *Conn) drop() {
	if cap(c.scratch) > smallMessage {
		c.scratch = nil
	}
	c.room.release()
}

// discard reads the rest of a message without keeping it.
func (c *Conn) discard(r io.Reader) error {
	b := make([]byte, chunk)
	for {
		n, err := r.Read(b)
		c.pace.came(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pace ends the connection when a part of a message does not come within its time.
type pace struct {
	timer *time.Timer
	time  time.Duration // how long a part may take
	left  int           // bytes of the part that are still to come
}

func newPace(each time.Duration, end func(error)) *pace {
	p := &pace{timer: time.AfterFunc(each, func() { end(errDrip) }), time: each}
	p.stop()
	return p
}

func (p *pace) begin() { p.left = part; p.timer.Reset(p.time) }
func (p *pace) stop()  { p.timer.Stop() }

// came counts bytes. When a part is complete, it restarts the time for the next.
func (p *pace) came(n int) {
	if p.left -= n; p.left <= 0 {
		p.begin()
	}
}

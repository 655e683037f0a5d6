package relayconn

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// What one message may hold while it is read. Bytes.
const (
	smallMessage  = 64 << 10  // every connection may have that much, besides the room of all
	mediumMessage = 256 << 10 // a quarter of the room is kept for messages that need no more: an event of any size that is taken
)

// patience is how long a message that is not complete keeps its room while others wait for it.
const patience = 10 * time.Second

// errHoarding ends the connection whose unfinished message keeps room that others wait for.
var errHoarding = errors.New("a message that does not end holds memory that others wait for")

// memory is the room for messages being read, of all connections of a Dialer together. Messages that are longer than small take of it
// as they grow, and give it back before the next one. Where there is none left they wait, in order, those of medium size past larger
// ones; and connections whose messages got room longer than patience ago and are not complete are ended, until there is enough. One
// party holds a quarter at most, and waits for itself only.
type memory struct {
	mu      sync.Mutex // guards everything below and all holds, never held across a wait
	free    int
	reserve int            // of free, for messages of medium size
	share   int            // of a party
	held    map[string]int // by party
	holds   []*hold        // that have bytes, in order of their beginning
	waiting []*hold        // in order
}

func newMemory(bytes int) *memory {
	return &memory{free: bytes, reserve: bytes / 4, share: bytes / 4, held: make(map[string]int)}
}

// hold is the part of one connection.
type hold struct {
	of       *memory
	end      func(error)     // ends the connection
	gone     <-chan struct{} // closed when it has ended
	party    string
	bytes    int
	charged  string // the party that has bytes on its account
	wants    int
	granted  chan struct{}
	since    time.Time // when the message got bytes last
	complete bool
	closed   bool // it gets nothing any more
}

// setParty says on whose account the next message is.
func (h *hold) setParty(p string) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.party = p
}

// ask asks for n bytes more, and reports whether they are there at once; else wait is to be called.
func (h *hold) ask(n int) bool {
	m := h.of
	m.mu.Lock()
	defer m.mu.Unlock()
	h.wants, h.granted = n, make(chan struct{})
	if h.closed {
		return false
	}
	if h.bytes == 0 {
		h.charged, h.complete = h.party, false
	}
	m.waiting = append(m.waiting, h)
	m.grant()
	return !slices.Contains(m.waiting, h)
}

// wait returns nil when what was asked for is there, and an error when ctx or the connection ended first.
func (h *hold) wait(ctx context.Context) error {
	defer h.withdraw()
	for {
		again, stop := h.of.press(h)
		select {
		case <-h.granted:
			stop()
			return nil
		case <-again:
		case <-h.gone:
			stop()
			return net.ErrClosed
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		}
	}
}

// withdraw ends the wait of h, if it still waits.
func (h *hold) withdraw() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.forget(h)
	h.of.grant() // it may have been before others
}

func (m *memory) forget(h *hold) {
	m.waiting = slices.DeleteFunc(m.waiting, func(x *hold) bool { return x == h })
}

// done says that the message is complete: it keeps its room until the caller is done with it.
func (h *hold) done() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.complete = true
}

// release gives back all that h has.
func (h *hold) release() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.giveBack(h)
}

// close releases for good.
func (h *hold) close() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.shut(h)
}

// shut is close; the caller holds mu.
func (m *memory) shut(h *hold) {
	h.closed = true
	m.forget(h)
	m.giveBack(h)
}

// giveBack is release; the caller holds mu.
func (m *memory) giveBack(h *hold) {
	if h.bytes == 0 {
		return
	}
	m.free += h.bytes
	if m.held[h.charged] -= h.bytes; m.held[h.charged] == 0 {
		delete(m.held, h.charged)
	}
	h.bytes = 0
	m.holds = slices.DeleteFunc(m.holds, func(x *hold) bool { return x == h })
	m.grant()
}

// grant gives those who wait what there is. The caller holds mu.
func (m *memory) grant() {
	var full [2]bool // of medium ones, of larger ones: nobody goes past others of the same size
	m.waiting = slices.DeleteFunc(m.waiting, func(h *hold) bool {
		kind := h.kind()
		if full[kind] || m.held[h.charged]+h.wants > m.share {
			return false
		}
		if h.wants > m.free-kind*m.reserve {
			full[kind] = true
			return false
		}
		m.take(h)
		return true
	})
}

func (m *memory) take(h *hold) {
	if h.bytes == 0 {
		m.holds = append(m.holds, h)
	}
	h.since = time.Now()
	h.bytes += h.wants
	m.free -= h.wants
	m.held[h.charged] += h.wants
	close(h.granted)
}

// kind is 0 where the message stays within medium size with what it wants, else 1.
func (h *hold) kind() int {
	if smallMessage+h.bytes+h.wants <= mediumMessage {
		return 0
	}
	return 1
}

// press ends connections that have had an unfinished message for too long in the way of h, one after the other until h has what it
// wants, and returns when to press again.
func (m *memory) press(h *hold) (again <-chan time.Time, stop func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for slices.Contains(m.waiting, h) {
		x := m.longest(h)
		if x == nil {
			break // all the rest is complete and in somebody's hands
		}
		if left := patience - time.Since(x.since); left > 0 {
			t := time.NewTimer(left)
			return t.C, t.Stop
		}
		m.shut(x)
		x.end(errHoarding)
	}
	return nil, func() bool { return true }
}

// longest is who has had an unfinished message in the way of h for longest. Of those that have had it for too long, one that waits for
// more is spared as long as there is one that has what it wants and does not use it.
func (m *memory) longest(h *hold) (longest *hold) {
	own, idle := m.held[h.charged]+h.wants > m.share, false
	for _, x := range m.holds {
		if x == h || x.complete || own && x.charged != h.charged {
			continue
		}
		uses := slices.Contains(m.waiting, x) || time.Since(x.since) < patience
		if longest == nil || !idle && (!uses || x.since.Before(longest.since)) || idle && !uses && x.since.Before(longest.since) {
			longest, idle = x, !uses
		}
	}
	return longest
}

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
	smallMessage  = 64 << 10  // every connection has so much without asking for room
	mediumMessage = 256 << 10 // a quarter of the room is for messages that need no more, which is enough for most events
)

// patience is how long an incomplete message keeps its room while others wait for room.
const patience = 10 * time.Second

// errHoarding ends a connection whose unfinished message keeps room while others wait for room.
var errHoarding = errors.New("a message that does not end holds memory that others wait for")

// memory is the room for messages being read, for all connections of a Dialer together. A message longer than smallMessage takes room as it
// grows, and the connection gives the room back before the next message. When there is no room left, messages wait in order, but those of
// medium size pass larger ones. Meanwhile memory ends connections whose incomplete messages got room longer than patience ago, until there
// is enough room. One party holds at most a quarter; whoever waits for room of their party's quarter ends only connections of that party.
type memory struct {
	mu      sync.Mutex // guards everything below and all holds, never held across a wait
	free    int
	reserve int            // bytes of free that only messages of medium size get
	share   int            // bytes that one party may hold
	held    map[string]int // bytes held, by party
	holds   []*hold        // those that have bytes, in the order in which they began
	waiting []*hold        // in order
}

func newMemory(bytes int) *memory {
	return &memory{free: bytes, reserve: bytes / 4, share: bytes / 4, held: make(map[string]int)}
}

// hold is one connection's part of the memory.
type hold struct {
	of       *memory
	end      func(error)     // ends the connection
	gone     <-chan struct{} // closed when it has ended
	party    string
	bytes    int
	charged  string // the party to whose account the bytes go
	wants    int
	granted  chan struct{}
	since    time.Time // when the message got bytes last
	complete bool
	closed   bool // the hold gets no more bytes
}

// setParty says to whose account the next message goes.
func (h *hold) setParty(p string) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.party = p
}

// ask asks for n bytes more, and reports whether h got them at once. Otherwise the caller calls wait.
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

// wait waits until h has the bytes that it asked for. It fails when ctx or the connection ends first.
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
	h.of.grant() // others may have waited behind h
}

func (m *memory) forget(h *hold) {
	m.waiting = slices.DeleteFunc(m.waiting, func(x *hold) bool { return x == h })
}

// done notes that the message is complete: it keeps its room until release.
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

// close gives back all that h has, and h gets nothing more.
func (h *hold) close() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.shut(h)
}

// shut does the work of close. The caller holds mu.
func (m *memory) shut(h *hold) {
	h.closed = true
	m.forget(h)
	m.giveBack(h)
}

// giveBack does the work of release. The caller holds mu.
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

// grant gives the waiting holds the room that there is. The caller holds mu.
func (m *memory) grant() {
	var full [2]bool // no room for medium messages, for larger ones: nobody passes others of the same size
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

// kind returns 0 where the message stays within medium size with the bytes that it wants, else 1.
func (h *hold) kind() int {
	if smallMessage+h.bytes+h.wants <= mediumMessage {
		return 0
	}
	return 1
}

// press ends connections whose incomplete messages have stood in the way of h for too long, one after the other until h has the bytes that
// it wants. It returns a channel that says when to press again.
func (m *memory) press(h *hold) (again <-chan time.Time, stop func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for slices.Contains(m.waiting, h) {
		x := m.longest(h)
		if x == nil {
			break // all other messages are complete, and their callers use them
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

// longest returns the hold whose incomplete message has stood in the way of h for longest. Of those that have stood there for too long, it
// spares holds that wait for more room as long as there is one that has its room and brings no bytes.
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

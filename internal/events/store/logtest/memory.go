// Package logtest has logs of commits for tests, and what every log must do, as tests that any implementation can run. Memory misbehaves in
// every way that a Log may.
package logtest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Fault is what goes wrong with one Append. Each but Well answers Unknown.
type Fault uint8

// The faults. A request that is late is carried out by Deliver, whatever has come to its position meanwhile.
const (
	Well       Fault = iota
	LostBefore       // the request does not come
	LostAfter        // it is carried out, and the answer is lost
	Late             // it comes late
	Twice            // it is carried out, the answer is lost, and it comes once more, late
)

// errLost is why nothing is known.
var errLost = errors.New("no answer")

// Memory is a log in memory. The zero Memory is empty.
type Memory struct {
	// Fault says what goes wrong with an Append; nil is nothing. ReadFails says whether a Read does. Set them before the log is used.
	Fault     func(commitlog.Entry) Fault
	ReadFails func(commitlog.Position) bool

	mu      sync.Mutex
	closed  bool
	entries map[commitlog.Position]commitlog.Entry
	late    []commitlog.Entry
}

// Append implements commitlog.Log.
func (m *Memory) Append(ctx context.Context, at commitlog.Position, before commitlog.Chain, body []byte) (commitlog.Result, error) {
	if err := context.Cause(ctx); err != nil {
		return commitlog.Unknown, err
	}
	e := commitlog.NewEntry(at, before, bytes.Clone(body))
	fault := Well
	if m.Fault != nil {
		fault = m.Fault(e)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return commitlog.Unknown, commitlog.ErrClosed
	}
	r := commitlog.Unknown
	if fault != LostBefore && fault != Late {
		r = m.put(e)
	}
	if fault == Late || fault == Twice {
		m.late = append(m.late, e)
	}
	if fault != Well {
		return commitlog.Unknown, errLost
	}
	return r, nil
}

func (m *Memory) put(e commitlog.Entry) commitlog.Result {
	if _, there := m.entries[e.At]; there {
		return commitlog.Refused
	}
	if m.entries == nil {
		m.entries = make(map[commitlog.Position]commitlog.Entry)
	}
	m.entries[e.At] = e
	return commitlog.Done
}

// Deliver carries out the requests that are late.
func (m *Memory) Deliver() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.late {
		m.put(e)
	}
	m.late = nil
}

// Read implements commitlog.Log.
func (m *Memory) Read(ctx context.Context, at commitlog.Position) (commitlog.Entry, error) {
	if err := context.Cause(ctx); err != nil {
		return commitlog.Entry{}, err
	}
	fails := m.ReadFails != nil && m.ReadFails(at)
	m.mu.Lock()
	defer m.mu.Unlock()
	if fails && m.closed {
		return commitlog.Entry{}, commitlog.ErrClosed
	}
	if fails {
		return commitlog.Entry{}, errLost
	}
	e, ok := m.entries[at]
	switch {
	case !ok && at > 0 && at < m.last():
		return commitlog.Entry{}, commitlog.ErrGap
	case !ok:
		return commitlog.Entry{}, commitlog.ErrNone
	}
	e.Body = bytes.Clone(e.Body)
	return e, nil
}

// Close has each later Append fail for good.
func (m *Memory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

// Len returns the position of the last entry.
func (m *Memory) Len() commitlog.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last()
}

func (m *Memory) last() (last commitlog.Position) {
	for at := range m.entries {
		last = max(last, at)
	}
	return last
}

// UpTo returns a copy of the log that ends at a position, where nothing goes wrong.
func (m *Memory) UpTo(last commitlog.Position) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Memory{entries: maps.Clone(m.entries)}
	maps.DeleteFunc(c.entries, func(at commitlog.Position, _ commitlog.Entry) bool { return at > last })
	return c
}

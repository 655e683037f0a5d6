package relayconn

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
)

// holdOf is the part of one more connection, which had so many bytes above small before.
func holdOf(t *testing.T, m *memory, party string, bytes int) *hold {
	t.Helper()
	h := &hold{of: m, end: func(error) {}, gone: make(chan struct{}), party: party}
	if bytes > 0 && !h.ask(bytes) {
		t.Fatalf("%s gets no %d bytes", party, bytes)
	}
	return h
}

// TestNobodyGoesPastTheirLike: messages get room in order, so that a large one is not put off by others for ever; those of medium
// size go past larger ones, and past each other neither.
func TestNobodyGoesPastTheirLike(t *testing.T) {
	m := newMemory(8 << 20)
	complete := []*hold{holdOf(t, m, "a", 2<<20), holdOf(t, m, "b", 2<<20), holdOf(t, m, "c", 1<<20)}
	first := holdOf(t, m, "d", 512<<10)
	second := holdOf(t, m, "e", 200<<10)
	for _, h := range []*hold{first, second} {
		if h.ask(1 << 20) {
			t.Fatal("there is room for a large one beside the reserve")
		}
	}
	third := holdOf(t, m, "f", 0)
	if !third.ask(100 << 10) {
		t.Error("a message of medium size waits for large ones")
	}
	fourth := holdOf(t, m, "g", 0)
	if fourth.ask(200 << 10) {
		fourth.release()
		if fourth.ask(300 << 10) {
			t.Error("a smaller large one goes past those that wait")
		}
	}
	complete[0].release()
	for i, h := range []*hold{first, second, fourth} {
		select {
		case <-h.granted:
		default:
			t.Errorf("number %d waits where there is room for all", i)
		}
	}
}

// TestAMessageIsOnOneAccount: that which it began on.
func TestAMessageIsOnOneAccount(t *testing.T) {
	m := newMemory(8 << 20)
	h := holdOf(t, m, "one", 100)
	h.setParty("two")
	if !h.ask(50) || m.held["one"] != 150 || m.held["two"] != 0 {
		t.Errorf("held %v", m.held)
	}
	h.release()
	if !h.ask(50) || m.held["one"] != 0 || m.held["two"] != 50 || m.free != 8<<20-50 {
		t.Errorf("the next one: held %v, %d free", m.held, m.free)
	}
}

// TestAClosedConnectionGetsNothing: its reader may still be at work when it is closed, and would give nothing back.
func TestAClosedConnectionGetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(8 << 20)
		gone := make(chan struct{})
		h := &hold{of: m, gone: gone}
		h.close()
		close(gone)
		if h.ask(100) {
			t.Error("it gets room at once")
		}
		if err := h.wait(t.Context()); !errors.Is(err, net.ErrClosed) || m.free != 8<<20 || len(m.waiting)+len(m.holds) != 0 {
			t.Errorf("%v, %d free", err, m.free)
		}
	})
}

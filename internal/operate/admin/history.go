package admin

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

// The last day of every relay, for the plots.
const (
	slotTime   = 5 * time.Minute
	slots      = int(24 * time.Hour / slotTime)
	sampleTime = 10 * time.Second
	mostRows   = 2000 // relays; the one seen longest ago goes first
)

// slot has what was seen of a relay within one slotTime.
type slot struct {
	number   int64  // of the slot, since 1970; a slot of the ring with another number than expected saw nothing
	up, down uint16 // in how many looks the relay was connected, and in how many not
	brought  uint64 // events that the relay brought first
}

// row has the last day of one relay, as a ring of slots.
type row struct {
	slots   [slots]slot
	seen    int64  // number of the newest slot
	brought uint64 // the relay's total at the last look
}

// history keeps the last day of every relay, in memory only.
type history struct {
	mu   sync.Mutex
	rows map[grasp.RelayURL]*row
}

func newHistory() *history { return &history{rows: make(map[grasp.RelayURL]*row)} }

// sample notes the states of relays at the time now.
func (h *history) sample(now time.Time, relays []status.Relay) {
	h.mu.Lock()
	defer h.mu.Unlock()
	number := slotOf(now)
	for _, r := range relays {
		x := h.rows[r.URL]
		total := r.Events()
		if x == nil {
			x = &row{brought: total}
			h.rows[r.URL] = x
		}
		x.add(number, r, total)
	}
	h.trim(number)
}

// add notes one look at the relay.
func (x *row) add(number int64, r status.Relay, total uint64) {
	s := &x.slots[number%int64(slots)]
	if s.number != number {
		*s = slot{number: number}
	}
	if r.Connected {
		s.up++
	} else if r.Phase != status.PhaseIdle || r.Health == status.Dead {
		s.down++
	}
	if total > x.brought { // less means that the engine has counted anew, as the relay got a new slot
		s.brought += total - x.brought
	}
	x.brought, x.seen = total, number
}

// trim forgets relays that were not seen for a day, and those beyond mostRows.
func (h *history) trim(number int64) {
	oldest := number - int64(slots)
	for {
		for u, x := range h.rows {
			if x.seen <= oldest {
				delete(h.rows, u)
			}
		}
		if len(h.rows) <= mostRows || oldest >= number {
			return
		}
		oldest++
	}
}

// day returns the slots of a relay's last day, the oldest first.
func (h *history) day(now time.Time, u grasp.RelayURL) (out [slots]slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.rows[u]
	if x == nil {
		return out
	}
	last := slotOf(now)
	for i := range out {
		n := last - int64(slots-1-i)
		if s := x.slots[n%int64(slots)]; s.number == n {
			out[i] = s
		}
	}
	return out
}

func slotOf(t time.Time) int64 { return t.Unix() / int64(slotTime/time.Second) }

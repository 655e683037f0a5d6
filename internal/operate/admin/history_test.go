package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

func seen(u string, connected bool, live uint64) status.Relay {
	return status.Relay{URL: grasp.RelayURL(u), Phase: "live", Connected: connected, Counters: status.Counters{Sources: status.Sources{Live: live}}}
}

func TestHistoryOfADay(t *testing.T) {
	h, at := newHistory(), time.Unix(1_800_000_000, 0)
	h.sample(at, []status.Relay{seen("wss://a", true, 100)})
	h.sample(at.Add(10*time.Second), []status.Relay{seen("wss://a", false, 107)})
	h.sample(at.Add(slotTime), []status.Relay{seen("wss://a", true, 2)}) // a slot given anew counts from the beginning
	h.sample(at.Add(slotTime+time.Second), []status.Relay{seen("wss://a", true, 5)})
	day := h.day(at.Add(2*slotTime), "wss://a")
	if s := day[slots-3]; s.up != 1 || s.down != 1 || s.brought != 7 {
		t.Errorf("first: %+v", s)
	}
	if s := day[slots-2]; s.up != 2 || s.down != 0 || s.brought != 3 {
		t.Errorf("second: %+v", s)
	}
	if s := day[slots-1]; s != (slot{}) {
		t.Errorf("not seen: %+v", s)
	}
	if day := h.day(at.Add(25*time.Hour), "wss://a"); day != [slots]slot{} {
		t.Error("what is older than a day is shown")
	}
	h.sample(at.Add(24*time.Hour+slotTime), nil)
	if len(h.rows) != 0 {
		t.Error("a relay that is gone for a day is kept")
	}
}

// TestHistoryIsBounded: strangers name relays, and the newest are kept.
func TestHistoryIsBounded(t *testing.T) {
	h, at := newHistory(), time.Unix(1_800_000_000, 0)
	for i := range 6 {
		var relays []status.Relay
		for j := range 500 {
			relays = append(relays, seen(fmt.Sprintf("wss://%d-%d", i, j), true, 0))
		}
		h.sample(at.Add(time.Duration(i)*slotTime), relays)
	}
	if len(h.rows) > mostRows || h.rows["wss://5-0"] == nil || h.rows["wss://0-0"] != nil {
		t.Errorf("%d rows", len(h.rows))
	}
}

func TestPlot(t *testing.T) {
	var day [slots]slot
	if p := draw(day); p.Up+p.Mixed+p.Down+p.Bars != "" || !strings.HasPrefix(p.Title, "nothing") {
		t.Errorf("%+v", p)
	}
	day[0] = slot{up: 3, brought: 1}
	day[3] = slot{down: 1}
	day[4], day[5] = slot{up: 1}, slot{down: 1}
	day[slots-1] = slot{up: 1, brought: 5000}
	p := draw(day)
	want := plot{
		Up: "M0 18h1v4h-1zM143 18h1v4h-1z", Down: "M1 18h1v4h-1z", Mixed: "M2 18h1v4h-1z",
		Bars: "M0 17v-2h1v2zM143 17v-17h1v17z", Title: "last day: connected 71.4% of the time seen, 5001 events brought",
	}
	if p != want {
		t.Errorf("%+v", p)
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		number(0): "0", number(999): "999", number(1234567): "1\u2009234\u2009567",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

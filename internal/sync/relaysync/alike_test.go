package relaysync

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// logged plays relays that fail one after the other for a reason, and returns how many lines of their own they get, and lines for all.
func (a *alike) logged(at time.Duration, relays int, reason string) (own, all int) {
	for i := range relays {
		u := grasp.RelayURL(fmt.Sprintf("wss://r%d.example.net", i))
		w, one, mend := a.note(at+time.Duration(i)*time.Second, u, fmt.Sprintf("dial tcp: lookup r%d.example.net: %s", i, reason))
		if w {
			own++
		}
		if one {
			if all++; mend == "" {
				all = -1000
			}
		}
	}
	return own, all
}

// Eighty relays that fail for one reason are a few lines, and for a reason of this machine one.
func TestManyRelaysFailForOneReason(t *testing.T) {
	for _, c := range []struct {
		relays   int
		reason   string
		own, all int
	}{
		{80, "network is unreachable", 0, 1}, {1, "network is unreachable", 0, 1}, {80, "server misbehaving", 0, 1},
		{80, "no such host", 3, 1}, {3, "no such host", 3, 0},
	} {
		var a alike
		if own, all := a.logged(0, c.relays, c.reason); own != c.own || all != c.all {
			t.Errorf("%d relays, %s: %d lines and %d for all, want %d and %d", c.relays, c.reason, own, all, c.own, c.all)
		}
		if own, all := a.logged(alikeFor+3*time.Minute, c.relays, c.reason); own != c.own || all != c.all {
			t.Errorf("%d relays, %s, ten minutes later: %d lines and %d for all", c.relays, c.reason, own, all)
		}
	}
}

// One relay that fails again and again is no crowd, and reasons that strangers make up take no memory without end.
func TestRelaysThatFailForTheirOwnReasons(t *testing.T) {
	var a alike
	for range 20 {
		if w, _, _ := a.note(0, "wss://one.example.net", "WebSocket handshake: HTTP 502"); !w {
			t.Fatal("its line is left out")
		}
	}
	for i := range 10_000 {
		if w, _, _ := a.note(0, "wss://one.example.net", fmt.Sprint("they say: ", i)); !w {
			t.Fatal("its line is left out")
		}
	}
	if len(a.by) > alikeKept {
		t.Errorf("%d reasons are kept", len(a.by))
	}
	if r := reasonOf("dial tcp 192.0.2.1:443: connect: connection refused"); r != "connection refused" || reasonOf("timeout") != "timeout" || strings.TrimSpace(reasonOf("")) != "" {
		t.Errorf("%q", r)
	}
}

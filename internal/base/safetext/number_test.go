package safetext

import "testing"

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0 relays", 1: "1 relay", 2: "2 relays", -1: "-1 relays"} {
		if got := Number(n, "relay", "relays"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

package layout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWaitingKind: the kind is found wherever it stands, and a value without one is corrupt.
func TestWaitingKind(t *testing.T) {
	long := `"content":"` + strings.Repeat("c", 5000) + `"`
	for text, want := range map[string]nostr.Kind{
		`{"kind":1618,` + long + `}`: 1618, `{` + long + `,"kind":30618}`: 30618, `{"kind":0}`: 0,
	} {
		if got, err := layout.WaitingKind([]byte("\x01\x00" + text)); got != want || err != nil {
			t.Errorf("%.40s: %d, %v", text, got, err)
		}
	}
	for pad := range 40 { // the end of what is looked at first may be in the middle of the kind
		text := `{"content":"` + strings.Repeat("c", 220+pad) + `","kind":30618,"tags":[]}`
		if got, err := layout.WaitingKind([]byte("\x01\x00" + text)); got != 30618 || err != nil {
			t.Errorf("behind %d bytes: %d, %v", 220+pad, got, err)
		}
	}
	for _, value := range []string{"", "\x01", "\x01\x00", "\x01\x00{" + long + "}", "\x01\x00{\"kind\":70000}"} {
		if got, err := layout.WaitingKind([]byte(value)); !errors.Is(err, layout.ErrCorrupt) {
			t.Errorf("%.40q: %d, %v", value, got, err)
		}
	}
}

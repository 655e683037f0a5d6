package nostr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestACheckerDoesNotMixUpEvents: what one event left in the buffer is no part of the next.
func TestACheckerDoesNotMixUpEvents(t *testing.T) {
	secret := nostr.SecretKey{31: 1}
	c := nostr.Checker{Verifier: nostr.Schnorr{}}
	for _, content := range []string{"short", strings.Repeat("long", 50_000), "", strings.Repeat("x", 300), "short"} {
		e := &nostr.Event{CreatedAt: 1, Kind: 1, Content: content}
		if err := secret.Sign(e, [32]byte{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Check(e); err != nil {
			t.Errorf("%d bytes: %v", len(content), err)
		}
		forged := e.Clone()
		forged.Content += "!"
		if err := c.Check(forged); !errors.Is(err, nostr.ErrID) {
			t.Errorf("%d bytes changed: %v", len(content), err)
		}
		forged = e.Clone()
		forged.Sig[0] ^= 1
		if err := c.Check(forged); !errors.Is(err, nostr.ErrSig) {
			t.Errorf("%d bytes, other signature: %v", len(content), err)
		}
	}
}

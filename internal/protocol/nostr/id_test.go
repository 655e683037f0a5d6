package nostr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestHexIsStrict(t *testing.T) {
	good := strings.Repeat("0123456789abcdef", 4)
	tests := []struct {
		name, text string
		ok         bool
	}{
		{"all digits", good, true},
		{"upper case", strings.ToUpper(good), false},
		{"one upper-case digit", good[:63] + "F", false},
		{"short", good[:63], false},
		{"short by a byte", good[:62], false},
		{"long", good + "0", false},
		{"empty", "", false},
		{"below 0", good[:63] + "/", false},
		{"above 9", good[:63] + ":", false},
		{"below a", "`" + good[1:], false},
		{"above f", "g" + good[1:], false},
		{"not ASCII", good[:62] + "é", false},
		{"0x prefix", "0x" + good[:62], false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err1 := nostr.ParseID(tt.text)
			pk, err2 := nostr.ParsePubKey(tt.text)
			for _, err := range []error{err1, err2} {
				if (err == nil) != tt.ok || err != nil && !errors.Is(err, nostr.ErrHex) {
					t.Errorf("err = %v", err)
				}
			}
			if tt.ok && (id.String() != tt.text || pk.String() != tt.text) {
				t.Errorf("%s %s do not round-trip", id, pk)
			}
			if !tt.ok && (id != nostr.ID{} || pk != nostr.PubKey{}) {
				t.Error("a refused text gave a value")
			}
		})
	}
}

func TestCompare(t *testing.T) {
	low, high := [32]byte{0, 9}, [32]byte{1, 0}
	if nostr.ID(low).Compare(high) >= 0 || nostr.ID(high).Compare(low) <= 0 || nostr.ID(low).Compare(low) != 0 {
		t.Error("ids are not ordered by their bytes")
	}
	if nostr.PubKey(low).Compare(high) >= 0 || nostr.PubKey(high).Compare(low) <= 0 || nostr.PubKey(low).Compare(low) != 0 {
		t.Error("public keys are not ordered by their bytes")
	}
}

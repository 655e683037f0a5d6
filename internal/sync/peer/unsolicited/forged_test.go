package unsolicited

import (
	"encoding/binary"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestForged(t *testing.T) {
	var f, other Forged
	id := func(n int) (id nostr.ID) { binary.BigEndian.PutUint64(id[:], uint64(n)); return id }
	for n := range MostForged {
		if f.Has(id(n)) {
			t.Fatalf("%d is there before it was noted", n)
		}
		if !f.Note(id(n)) || !f.Has(id(n)) {
			t.Fatalf("%d is not remembered", n)
		}
	}
	if f.Note(id(MostForged)) || f.Has(id(MostForged)) {
		t.Error("there is no bound")
	}
	if !f.Note(id(7)) {
		t.Error("what is remembered is not noted again")
	}
	if other.Has(id(7)) {
		t.Error("another relay is blamed")
	}
}

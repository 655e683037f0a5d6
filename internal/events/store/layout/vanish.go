package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Vanishing is the newest stored request to vanish of an author (NIP-62).
type Vanishing struct {
	Until int64 // created_at of the request; nothing of the author up to then is here
	ID    nostr.ID
}

// Append appends the value of the request's row to dst.
func (v Vanishing) Append(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(v.Until)), v.ID[:]...)
}

// ParseVanishing reads a request.
func ParseVanishing(b []byte) (Vanishing, error) {
	if len(b) != 8+32 {
		return Vanishing{}, fmt.Errorf("request to vanish: %w", ErrCorrupt)
	}
	return Vanishing{int64(binary.BigEndian.Uint64(b)), nostr.ID(b[8:])}, nil
}

// VanishedKey returns the key of an author's request.
func VanishedKey(author nostr.PubKey) []byte { return IDKey(TableVanished, nostr.ID(author)) }

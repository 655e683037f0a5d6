package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Unfinished is a deletion that has not yet deleted everything that it names. It is on disk with the deletion, so that a restart goes on with
// it. Until it is done the store takes nothing that it names; the deletion's index rows tell what that is.
type Unfinished struct {
	Next int   // the first tag that is left
	Time int64 // created_at of the deletion
	ID   nostr.ID
}

const unfinishedLen = 4 + 8 + 32

// UnfinishedKey returns the key of an unfinished deletion, by its author and its entry.
func UnfinishedKey(author nostr.PubKey, seq Seq) []byte {
	return binary.BigEndian.AppendUint64(IDKey(TableUnfinished, nostr.ID(author)), uint64(seq))
}

// Append appends the value of the deletion's row to dst.
func (u Unfinished) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.Next))
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.Time))
	return append(dst, u.ID[:]...)
}

// ParseUnfinished reads an unfinished deletion and the number of its entry.
func ParseUnfinished(key, v []byte) (u Unfinished, seq Seq, err error) {
	if len(key) != 1+32+8 || len(v) != unfinishedLen {
		return u, 0, fmt.Errorf("unfinished deletion: %w", ErrCorrupt)
	}
	u = Unfinished{int(binary.BigEndian.Uint32(v)), int64(binary.BigEndian.Uint64(v[4:])), nostr.ID(v[12:])}
	return u, Seq(binary.BigEndian.Uint64(key[33:])), nil
}

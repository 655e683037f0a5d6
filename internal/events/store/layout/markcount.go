package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// The store counts how many marks an author's deletions have left, so that these have a bound. The event that went pays for a mark for something
// that was here. Beyond the bound a deletion leaves no mark for something that is not here: it is stored and served, but has no effect on what
// comes later.

// MarkCountKey returns the key of an author's MarkCount.
func MarkCountKey(author nostr.PubKey) []byte { return IDKey(TableMarks, nostr.ID(author)) }

// MarkCount says how many marks the deletions of one author have left.
type MarkCount struct {
	N       uint32
	Refused bool   // a mark was once refused, as there were too many
	Unused  uint32 // how many of the author's deletions are unused and still served
	Aged    uint32 // how many are unused, not served any more and remembered
}

// Lengths of the value, now and before format 7, when it had only N and Refused.
const (
	marksLen    = 4 + 1 + 4 + 4
	marksLenOld = 4 + 1
)

// ParseMarkCount reads a MarkCount.
func ParseMarkCount(v []byte) (MarkCount, error) {
	if len(v) != marksLen && len(v) != marksLenOld || v[4] > 1 {
		return MarkCount{}, fmt.Errorf("number of marks: %w", ErrCorrupt)
	}
	m := MarkCount{N: binary.BigEndian.Uint32(v), Refused: v[4] == 1}
	if len(v) == marksLen {
		m.Unused, m.Aged = binary.BigEndian.Uint32(v[5:]), binary.BigEndian.Uint32(v[9:])
	}
	return m, nil
}

// Append appends the value of an author's row to dst.
func (m MarkCount) Append(dst []byte) []byte {
	dst = append(binary.BigEndian.AppendUint32(dst, m.N), 0)
	if m.Refused {
		dst[len(dst)-1] = 1
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, m.Unused), m.Aged)
}

package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/nostr"
)

// How many marks an author's deletions have left is counted, so that there is a bound to them. A mark for something that was
// here is paid for by the event that went; beyond the bound none is left for what is not here: a deletion of it is stored and served, and has no
// effect on what comes later.

// MarkCountKey is the key of an author's MarkCount.
func MarkCountKey(author nostr.PubKey) []byte { return IDKey(TableMarks, nostr.ID(author)) }

// MarkCount says how many marks the deletions of one author have left.
type MarkCount struct {
	N       uint32
	Refused bool   // there was one too many some time
	Unused  uint32 // of the author's deletions, those that are served and whose time may end
	Aged    uint32 // and that are remembered since theirs has
}

// Before format 7 nothing was counted but marks.
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

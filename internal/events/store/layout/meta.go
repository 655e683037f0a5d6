package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Names in the meta table.
const (
	MetaFormat   = "format"
	MetaCounters = "counters"
	MetaRules    = "rules" // the epoch of the rules (4 bytes), then their fingerprint

	// Only in a store that has a log of commits.
	MetaPlace = "place" // which commit of the log was the last; no commit has this row itself
	MetaTerm  = "term"  // who leads, in the words of the one who does
)

// CheckFormat fails for the format of another version.
func CheckFormat(v []byte) error {
	if n := binary.BigEndian.Uint32(v); n < oldestFormat || n > FormatVersion {
		return fmt.Errorf("%w (format %d, this one knows %d)", ErrFormat, n, FormatVersion)
	}
	return nil
}

// ErrFormat says that another version wrote the data.
var ErrFormat = errors.New("the data has the format of another version")

// FormatVersion is the version of the layout in key.go, and oldestFormat the oldest that is read. In 2 nothing waits, 3 has no named rows, in 4
// all orphans are of one sort, in 5 nothing is put aside, and in 6 no mark has an end.
const (
	FormatVersion = 7
	oldestFormat  = 2
)

// Place says up to where a store has the log of commits.
type Place struct {
	Position uint64
	Term     uint64 // of the commit at Position
	Began    uint64 // the position of the term's first commit
	Chain    [32]byte
}

// Append appends the value of the place's row to dst.
func (p Place) Append(dst []byte) []byte {
	for _, n := range [...]uint64{p.Position, p.Term, p.Began} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	return append(dst, p.Chain[:]...)
}

// ParsePlace reads a place.
func ParsePlace(b []byte) (p Place, err error) {
	if len(b) != 3*8+len(p.Chain) {
		return p, fmt.Errorf("place in the log of commits: %w", ErrCorrupt)
	}
	return Place{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), [32]byte(b[24:])}, nil
}

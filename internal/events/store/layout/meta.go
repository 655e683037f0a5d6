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

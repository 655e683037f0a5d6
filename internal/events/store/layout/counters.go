package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Counters has what a store counts. Every commit writes them.
type Counters struct {
	Head         Seq
	Events       int64
	Repositories int64 // announcements, kind 30617
	Flagged      int64 // remembered events
	FlaggedRows  int64
	Seqs         Seq // the numbers of all stored events, added up
	Waiting      int64
	WaitingBytes int64 // bytes of the encoded events that wait
}

const countersLen = 8 * 8

// Append appends the value of the counters' row to dst.
func (c Counters) Append(dst []byte) []byte {
	for _, n := range []int64{int64(c.Head), c.Events, c.Repositories, c.Flagged, c.FlaggedRows, int64(c.Seqs), c.Waiting, c.WaitingBytes} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	return dst
}

// ReadCounters parses the counters of any format from oldestFormat on. In format 2 nothing waits, and those counters are 0.
func ReadCounters(b []byte) (Counters, error) {
	if len(b) == countersLen-2*8 {
		b = append(bytes.Clone(b), make([]byte, 2*8)...)
	}
	return parseCounters(b)
}

func parseCounters(b []byte) (Counters, error) {
	if len(b) != countersLen {
		return Counters{}, fmt.Errorf("counters: %w", ErrCorrupt)
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8*i:])) }
	return Counters{Seq(n(0)), n(1), n(2), n(3), n(4), Seq(n(5)), n(6), n(7)}, nil
}

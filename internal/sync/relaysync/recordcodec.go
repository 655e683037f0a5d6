package relaysync

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// recordVersion is the version of the encoding that recordLen describes. Records of version 3, which end before the cause, can be read too. A
// record of any other version cannot: its relay begins anew.
const recordVersion, causeless = 4, 3

// recordLen is the length in bytes of a record before the cause: the version, the number of failures in 4 bytes, six times and two durations
// in 8 bytes each, and whether the relay is alike, 0 or 1. Numbers are big endian. Times are milliseconds since 1970, 0 for none; durations
// are milliseconds. The cause of the last failure follows: its length in two bytes, and then its bytes.
const recordLen = 1 + 4 + 6*8 + 2*8 + 1

var errRecord = errors.New("unreadable record of a relay")

func encodeRecord(r history.Record) []byte {
	b := append(make([]byte, 0, recordLen), recordVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(min(r.Failures, 1<<30)))
	for _, t := range []time.Time{r.At, r.FirstFailure, r.NextAttempt, r.LastAlive, r.Revived, r.References} {
		ms := int64(0)
		if !t.IsZero() {
			ms = t.UnixMilli()
		}
		b = binary.BigEndian.AppendUint64(b, uint64(ms))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(r.Uptime.Connected.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Uptime.Not.Milliseconds()))
	alike := byte(0)
	if r.Alike {
		alike = 1
	}
	cause, _ := safetext.Cut(r.Cause, history.LongestCause)
	b = binary.BigEndian.AppendUint16(append(b, alike), uint16(len(cause)))
	return append(b, cause...)
}

func decodeRecord(b []byte) (history.Record, error) {
	if len(b) == 0 || b[0] != recordVersion && b[0] != causeless {
		return history.Record{}, fmt.Errorf("%w: another version", errRecord)
	}
	cause, ok := causeIn(b)
	if !ok {
		return history.Record{}, fmt.Errorf("%w: %d bytes", errRecord, len(b))
	}
	r := history.Record{Failures: int(binary.BigEndian.Uint32(b[1:])), Cause: cause}
	next := b[5:]
	number := func() int64 {
		n := int64(binary.BigEndian.Uint64(next))
		next = next[8:]
		return n
	}
	for _, t := range []*time.Time{&r.At, &r.FirstFailure, &r.NextAttempt, &r.LastAlive, &r.Revived, &r.References} {
		if ms := number(); ms != 0 {
			*t = time.UnixMilli(ms).UTC()
		}
	}
	for _, d := range []*time.Duration{&r.Uptime.Connected, &r.Uptime.Not} {
		ms := number()
		if ms < 0 || ms > longestUptime.Milliseconds() {
			return history.Record{}, fmt.Errorf("%w: %d ms", errRecord, ms)
		}
		*d = time.Duration(ms) * time.Millisecond
	}
	if next[0] > 1 {
		return history.Record{}, fmt.Errorf("%w: neither alike nor not", errRecord)
	}
	r.Alike = next[0] == 1
	return r, nil
}

// causeIn returns the cause in a record; false where the record has another length than it says.
func causeIn(b []byte) (cause string, ok bool) {
	if b[0] == causeless {
		return "", len(b) == recordLen
	}
	if len(b) < recordLen+2 {
		return "", false
	}
	n, cause := int(binary.BigEndian.Uint16(b[recordLen:])), string(b[recordLen+2:])
	return cause, n == len(cause) && n <= history.LongestCause
}

// longestUptime bounds the durations of a record: longer than graspd has watched any relay, and short enough for a time.Duration.
const longestUptime = 100 * 365 * 24 * time.Hour

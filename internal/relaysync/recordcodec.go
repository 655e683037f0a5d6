package relaysync

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/plan"
)

// recordVersion is the version of the shape below. What another version wrote
// is not read: the relay begins anew.
const recordVersion = 3

// recordLen is the length of version 3: the version, the number of failures, six
// times and two durations, big endian, and whether the relay is alike, 0 or 1.
// Times are milliseconds since 1970, 0 for none; durations are milliseconds.
const recordLen = 1 + 4 + 6*8 + 2*8 + 1

var errRecord = errors.New("unreadable record of a relay")

func encodeRecord(r plan.Record) []byte {
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
	if r.Alike {
		return append(b, 1)
	}
	return append(b, 0)
}

func decodeRecord(b []byte) (plan.Record, error) {
	if len(b) == 0 || b[0] != recordVersion {
		return plan.Record{}, fmt.Errorf("%w: another version", errRecord)
	}
	if len(b) != recordLen {
		return plan.Record{}, fmt.Errorf("%w: %d bytes", errRecord, len(b))
	}
	r := plan.Record{Failures: int(binary.BigEndian.Uint32(b[1:]))}
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
			return plan.Record{}, fmt.Errorf("%w: %d ms", errRecord, ms)
		}
		*d = time.Duration(ms) * time.Millisecond
	}
	if next[0] > 1 {
		return plan.Record{}, fmt.Errorf("%w: neither alike nor not", errRecord)
	}
	r.Alike = next[0] == 1
	return r, nil
}

// longestUptime is more than any relay was watched.
const longestUptime = 100 * 365 * 24 * time.Hour

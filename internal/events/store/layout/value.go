package layout

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ErrCorrupt says that a key or value on disk does not have the shape that this package writes.
var ErrCorrupt = errors.New("corrupt record")

// NoExpiration stands for an event without one.
const NoExpiration = int64(^uint64(0) >> 1)

// Row is the value of an index row: where the event is, and what a query wants to know before it reads the event.
type Row struct {
	Seq        Seq
	Kind       nostr.Kind
	Expiration int64 // NoExpiration where there is none
	Cases      Cases // of a tag's row; 0 in all others
}

// MaxRow is the length of the longest value of an index row.
const MaxRow = 8 + 2 + 8 + 1

// Expired reports whether the event has expired at a unix time (NIP-40).
func (r Row) Expired(now int64) bool { return r.Expiration <= now }

// Append appends the value of the row to dst.
func (r Row) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.Seq))
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Kind))
	if r.Expiration != NoExpiration {
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.Expiration))
	}
	return r.Cases.Append(dst)
}

// ParseRow reads the value of an index row.
func ParseRow(b []byte) (Row, error) {
	r := Row{Expiration: NoExpiration}
	if len(b)%2 == 1 {
		r.Cases, b = cutCases(b)
	}
	switch len(b) {
	case 18:
		r.Expiration = int64(binary.BigEndian.Uint64(b[10:]))
	case 10:
	default:
		return r, fmt.Errorf("index row: %w", ErrCorrupt)
	}
	r.Seq = Seq(binary.BigEndian.Uint64(b))
	r.Kind = nostr.Kind(binary.BigEndian.Uint16(b[8:]))
	return r, nil
}

// FlaggedRow is the value of a flagged index row. The epoch is that of the rules that refused the event, or 0 where the rules did not.
type FlaggedRow struct {
	Epoch uint32
	Kind  nostr.Kind
	Why   policy.Outcome
	Cases Cases // as in a Row
}

// Append appends the value of the row to dst.
func (r FlaggedRow) Append(dst []byte) []byte {
	why, _ := EncodeWhy(r.Why)
	dst = binary.BigEndian.AppendUint32(dst, r.Epoch)
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Kind))
	return r.Cases.Append(append(dst, why))
}

// ParseFlaggedRow reads the value of a flagged row.
func ParseFlaggedRow(b []byte) (FlaggedRow, error) {
	var of Cases
	if len(b) == 8 {
		of, b = cutCases(b)
	}
	if len(b) != 7 {
		return FlaggedRow{}, fmt.Errorf("flagged row: %w", ErrCorrupt)
	}
	why, ok := decodeWhy(b[6])
	if !ok {
		return FlaggedRow{}, fmt.Errorf("flagged row: %w", ErrCorrupt)
	}
	return FlaggedRow{binary.BigEndian.Uint32(b), nostr.Kind(binary.BigEndian.Uint16(b[4:])), why, of}, nil
}

// LogHeader is the length of the header of a value of the log: source and a spare byte. The event's JSON follows as it is sent.
const LogHeader = 2

// AppendLog appends the log's value of an event.
func AppendLog(dst []byte, src Source, e *nostr.Event) []byte {
	return e.AppendJSON(append(dst, byte(src), 0))
}

// ParseLog reads a value of the log. The JSON that it returns is a part of b, which the caller keeps unchanged meanwhile.
func ParseLog(b []byte) (src Source, json []byte, err error) {
	if len(b) < LogHeader {
		return 0, nil, fmt.Errorf("log entry: %w", ErrCorrupt)
	}
	return Source(b[0]), b[LogHeader:], nil
}

// AppendIDRow appends a value of the id table: the row and the event's created_at.
func AppendIDRow(dst []byte, time int64, r Row) []byte {
	return r.Append(binary.BigEndian.AppendUint64(dst, uint64(time)))
}

// ParseIDRow reads a value of the id table: the event's created_at and its row.
func ParseIDRow(b []byte) (time int64, r Row, err error) {
	if len(b) < 8 {
		return 0, r, fmt.Errorf("id row: %w", ErrCorrupt)
	}
	r, err = ParseRow(b[8:])
	return int64(binary.BigEndian.Uint64(b)), r, err
}

// AppendRemoved appends the value of a removal.
func AppendRemoved(dst []byte, id nostr.ID, why Reason) []byte {
	return append(append(dst, byte(why)), id[:]...)
}

func parseRemoved(b []byte) (id nostr.ID, why Reason, err error) {
	if len(b) != 33 {
		return id, 0, fmt.Errorf("removal: %w", ErrCorrupt)
	}
	return nostr.ID(b[1:]), Reason(b[0]), nil
}

// RowOf returns the index row of an event under the number of its entry.
func RowOf(e *nostr.Event, seq Seq) Row {
	r := Row{Seq: seq, Kind: e.Kind, Expiration: NoExpiration}
	if at, ok := e.Expiration(); ok {
		r.Expiration = at
	}
	return r
}

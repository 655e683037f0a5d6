package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// errCorrupt says that a key or value on disk does not have the shape that this package writes.
var errCorrupt = errors.New("corrupt record")

// noExpiration stands for an event without one.
const noExpiration = int64(^uint64(0) >> 1)

// row is the value of an index row: where the event is, and what a query wants to know before it reads it.
type row struct {
	seq        Seq
	kind       nostr.Kind
	expiration int64 // noExpiration where there is none
	cases      cases // of a tag's row; 0 of all others
}

// maxRow is the length of the longest value of an index row.
const maxRow = 8 + 2 + 8 + 1

func (r row) expired(now int64) bool { return r.expiration <= now }

func (r row) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.seq))
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.kind))
	if r.expiration != noExpiration {
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.expiration))
	}
	return r.cases.append(dst)
}

func parseRow(b []byte) (row, error) {
	r := row{expiration: noExpiration}
	if len(b)%2 == 1 {
		r.cases, b = cutCases(b)
	}
	switch len(b) {
	case 18:
		r.expiration = int64(binary.BigEndian.Uint64(b[10:]))
	case 10:
	default:
		return r, fmt.Errorf("index row: %w", errCorrupt)
	}
	r.seq = Seq(binary.BigEndian.Uint64(b))
	r.kind = nostr.Kind(binary.BigEndian.Uint16(b[8:]))
	return r, nil
}

// flaggedRow is the value of a flagged index row. The epoch is that of the rules that refused the event, or 0 where
// they had no part in it.
type flaggedRow struct {
	epoch uint32
	kind  nostr.Kind
	why   policy.Outcome
	cases cases // as of a row
}

func (r flaggedRow) append(dst []byte) []byte {
	why, _ := encodeWhy(r.why)
	dst = binary.BigEndian.AppendUint32(dst, r.epoch)
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.kind))
	return r.cases.append(append(dst, why))
}

func parseFlaggedRow(b []byte) (flaggedRow, error) {
	var of cases
	if len(b) == 8 {
		of, b = cutCases(b)
	}
	if len(b) != 7 {
		return flaggedRow{}, fmt.Errorf("flagged row: %w", errCorrupt)
	}
	why, ok := decodeWhy(b[6])
	if !ok {
		return flaggedRow{}, fmt.Errorf("flagged row: %w", errCorrupt)
	}
	return flaggedRow{binary.BigEndian.Uint32(b), nostr.Kind(binary.BigEndian.Uint16(b[4:])), why, of}, nil
}

// The log's value: source, a spare byte, then the event's JSON as it is sent.
const logHeader = 2

func appendLog(dst []byte, src Source, e *nostr.Event) []byte {
	return e.AppendJSON(append(dst, byte(src), 0))
}

func parseLog(b []byte) (src Source, json []byte, err error) {
	if len(b) < logHeader {
		return 0, nil, fmt.Errorf("log entry: %w", errCorrupt)
	}
	return Source(b[0]), b[logHeader:], nil
}

// idRow is the value of the id table: the row and the event's time.
func appendIDRow(dst []byte, time int64, r row) []byte {
	return r.append(binary.BigEndian.AppendUint64(dst, uint64(time)))
}

func parseIDRow(b []byte) (time int64, r row, err error) {
	if len(b) < 8 {
		return 0, r, fmt.Errorf("id row: %w", errCorrupt)
	}
	r, err = parseRow(b[8:])
	return int64(binary.BigEndian.Uint64(b)), r, err
}

func appendRemoved(dst []byte, id nostr.ID, why Reason) []byte {
	return append(append(dst, byte(why)), id[:]...)
}

func parseRemoved(b []byte) (id nostr.ID, why Reason, err error) {
	if len(b) != 33 {
		return id, 0, fmt.Errorf("removal: %w", errCorrupt)
	}
	return nostr.ID(b[1:]), Reason(b[0]), nil
}

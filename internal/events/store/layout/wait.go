package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Wait says how an event waits for the git data that it names (GRASP-01).
type Wait struct {
	Source Source
	Came   int64  // unix time at which it came
	Until  int64  // unix time at which the wait is over; no later than the event's expiration (NIP-40)
	From   string // the source that brought it
}

// Waiting is an event that waits. It is durable, but nothing that serves events shows it.
type Waiting struct {
	Event *nostr.Event
	Seq   Seq // of its entry in the feed
	Wait
}

// WaitingKey returns the key of an event that waits, by the number of its entry.
func WaitingKey(s Seq) []byte { return numberKey(TableWaiting, uint64(s)) }

// peeked is how much of an event shows its kind in most cases: what comes before the tags, as most programs write events.
const peeked = 256

// WaitingKind returns the kind of an event that waits, of the value under its WaitingKey, without parsing the rest.
func WaitingKind(value []byte) (nostr.Kind, error) {
	_, json, err := ParseLog(value)
	if err != nil {
		return 0, err
	}
	kind, shown := nostr.KindOf(json[:min(len(json), peeked)])
	if !shown {
		kind, shown = nostr.KindOf(json)
	}
	if !shown {
		return 0, fmt.Errorf("kind of what waits: %w", ErrCorrupt)
	}
	return kind, nil
}

// WaitAuthorKey returns the key by which the waiting events of an author are found.
func WaitAuthorKey(author nostr.PubKey, s Seq) []byte {
	return binary.BigEndian.AppendUint64(IDKey(TableWaitAuthor, nostr.ID(author)), uint64(s))
}

// WaitRepositoryKey returns the key by which the waiting announcements with a d are found.
func WaitRepositoryKey(d Hash, s Seq) []byte {
	return binary.BigEndian.AppendUint64(HashKey(TableWaitRepository, d), uint64(s))
}

// WaitRow says how an event waits, by its id.
type WaitRow struct {
	Seq         Seq
	Came, Until int64
	From        string
}

const (
	waitHead = 8 + 8 + 8
	maxFrom  = 255
)

// Append appends the value of the row to dst.
func (w WaitRow) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(w.Seq))
	dst = binary.BigEndian.AppendUint64(dst, uint64(w.Came))
	dst = binary.BigEndian.AppendUint64(dst, uint64(w.Until))
	return append(dst, SourceOf(w.From)...)
}

// SourceOf returns the beginning of a source's name, as much of it as a row keeps.
func SourceOf(from string) string { return from[:min(len(from), maxFrom)] }

// ParseWaitRow reads a WaitRow.
func ParseWaitRow(b []byte) (WaitRow, error) {
	if len(b) < waitHead || len(b) > waitHead+maxFrom {
		return WaitRow{}, fmt.Errorf("wait: %w", ErrCorrupt)
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8*i:])) }
	return WaitRow{Seq(n(0)), n(1), n(2), string(b[waitHead:])}, nil
}

const stampLen = 8 + 32

// AppendStamp appends the value of a version that waits under an address.
func AppendStamp(dst []byte, s nostr.Stamp) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(s.CreatedAt)), s.ID[:]...)
}

// ParseStamp reads the stamp of a version that waits.
func ParseStamp(b []byte) (nostr.Stamp, error) {
	if len(b) != stampLen {
		return nostr.Stamp{}, fmt.Errorf("version that waits: %w", ErrCorrupt)
	}
	return nostr.Stamp{CreatedAt: int64(binary.BigEndian.Uint64(b)), ID: nostr.ID(b[8:])}, nil
}

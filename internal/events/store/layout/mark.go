package layout

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Deletable reports whether a deletion has an effect on events of a kind. It has none on deletions and on requests to vanish.
func Deletable(k nostr.Kind) bool { return k != nostr.KindDeletion && k != nostr.KindVanish }

// OwnAddress returns the hash of an address, if it is one of the author's.
func OwnAddress(author nostr.PubKey, value string) (Hash, bool) {
	a, err := nip34.ParseAddress(value)
	return HashOf(a.String()), err == nil && a.PubKey == author
}

// Most deletion requests on public relays name events that were never here. A request that has removed nothing is unused. It is served for
// UnusedServed from its created_at, so that other relays hear of it which have what it names, and then leaves the log. Its marks keep the named
// events away for UnusedGate more, and for as long the request is remembered, so that no reconciliation fetches it again. Each time that a mark
// keeps an event away it stands for twice UnusedGate from then on, and the request is served while half of that is left. A request that has
// removed something stays for ever, as the removed event has paid for it.
const (
	UnusedServed = 30 * 24 * time.Hour
	UnusedGate   = 183 * 24 * time.Hour

	unusedServed = int64(UnusedServed / time.Second)

	// UnusedGateSeconds is UnusedGate in seconds.
	UnusedGateSeconds = int64(UnusedGate / time.Second)
)

// DeletionMark is what deletions leave for an id or an address that they name.
type DeletionMark struct {
	Time   int64        // created_at of the newest of these deletions
	Until  int64        // unix time from which on it has no force; 0 is for ever
	Author nostr.PubKey // the author of the deletions that left it; only where it has an end
}

// Over reports whether the mark has no force any more at a unix time.
func (m DeletionMark) Over(now int64) bool { return m.Until != 0 && m.Until <= now }

// Append appends the value of a mark in a table to dst. The author stands in the key of an id, but in the value of an address.
func (m DeletionMark) Append(dst []byte, table byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.Time))
	if m.Until == 0 {
		return dst
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.Until))
	if table == TableDeletedAddress {
		dst = append(dst, m.Author[:]...)
	}
	return dst
}

// ParseDeletionMark reads a mark of an id or of an address.
func ParseDeletionMark(key, v []byte) (m DeletionMark, err error) {
	finite := 16
	var owner []byte
	switch {
	case len(key) == 1+32+32 && key[0] == TableDeletedID:
		owner = key[1+32:]
	case len(key) == 1+HashLen && key[0] == TableDeletedAddress:
		finite += 32
	default:
		return m, fmt.Errorf("mark of a deletion: %w", ErrCorrupt)
	}
	if len(v) != 8 && len(v) != finite {
		return m, fmt.Errorf("mark of a deletion: %w", ErrCorrupt)
	}
	m.Time = int64(binary.BigEndian.Uint64(v))
	if len(v) == 8 {
		return m, nil
	}
	if m.Until = int64(binary.BigEndian.Uint64(v[8:])); m.Until <= 0 {
		return m, fmt.Errorf("mark of a deletion: %w", ErrCorrupt)
	}
	if owner == nil {
		owner = v[16:]
	}
	m.Author = nostr.PubKey(owner)
	return m, nil
}

// AgesAt returns the unix time from which on an unused request is not served any more. Whatever its created_at says, that is within twice
// UnusedServed from now.
func AgesAt(createdAt, now int64) int64 { return min(createdAt, now+unusedServed) + unusedServed }

// GateUntil returns the unix time at which the marks end that a request leaves now.
func GateUntil(createdAt, now int64) int64 {
	return max(AgesAt(createdAt, now), now) + UnusedGateSeconds
}

// DeletionMarkKeys returns the keys of the marks for everything that a deletion names, each once.
func DeletionMarkKeys(del *nostr.Event) (keys [][]byte) {
	seen := map[string]bool{}
	for _, t := range del.Tags {
		var key []byte
		switch t.Name() {
		case "e":
			id, err := nostr.ParseID(t.Value())
			if err != nil {
				continue
			}
			key = DeletedIDKey(id, del.PubKey)
		case "a":
			h, ok := OwnAddress(del.PubKey, t.Value())
			if !ok {
				continue
			}
			key = HashKey(TableDeletedAddress, h)
		default:
			continue
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// UnusedRow is an unused request, which the store looks at when it is due.
type UnusedRow struct {
	Due    int64
	ID     nostr.ID
	Author nostr.PubKey
}

// ParseUnused reads a row of an unused request.
func ParseUnused(key, v []byte) (u UnusedRow, err error) {
	at, id, ok := ParseTimedKey(key)
	if !ok || len(v) != len(u.Author) {
		return u, fmt.Errorf("unused deletion: %w", ErrCorrupt)
	}
	return UnusedRow{at, id, nostr.PubKey(v)}, nil
}

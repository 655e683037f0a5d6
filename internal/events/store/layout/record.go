package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Record is what the store remembers of a genuine event that is not stored: enough to find each of its index rows and to delete these again.
type Record struct {
	Facts
	Why   policy.Outcome
	Epoch uint32 // of the rules that refused it; 0 where the rules did not
	Due   int64  // unix time at which it is forgotten; 0 is never, as for an event that waits
}

// The reasons as they are on disk.
const (
	remRefuse       = 1
	remUnrelated    = 2
	remSuperseded   = 3
	remDeleted      = 4
	remExpired      = 5
	remVanished     = 6
	remWithdraw     = 7
	remWait         = 8
	remLapsed       = 9
	remUnlisted     = 10
	remNoMaintainer = 11
	remUnused       = 12
)

// EncodeWhy returns an outcome as records have it; false for one that is not remembered.
func EncodeWhy(o policy.Outcome) (byte, bool) {
	switch o {
	case policy.Refuse:
		return remRefuse, true
	case policy.Unrelated:
		return remUnrelated, true
	case policy.Unlisted:
		return remUnlisted, true
	case policy.NoMaintainer:
		return remNoMaintainer, true
	case policy.Superseded:
		return remSuperseded, true
	case policy.Deleted:
		return remDeleted, true
	case policy.Expired:
		return remExpired, true
	case policy.Vanished:
		return remVanished, true
	case policy.Withdraw:
		return remWithdraw, true
	case policy.Wait:
		return remWait, true
	case policy.Lapsed:
		return remLapsed, true
	case policy.Unused:
		return remUnused, true
	}
	return 0, false
}

func decodeWhy(b byte) (policy.Outcome, bool) {
	switch b {
	case remRefuse:
		return policy.Refuse, true
	case remUnrelated:
		return policy.Unrelated, true
	case remUnlisted:
		return policy.Unlisted, true
	case remNoMaintainer:
		return policy.NoMaintainer, true
	case remSuperseded:
		return policy.Superseded, true
	case remDeleted:
		return policy.Deleted, true
	case remExpired:
		return policy.Expired, true
	case remVanished:
		return policy.Vanished, true
	case remWithdraw:
		return policy.Withdraw, true
	case remWait:
		return policy.Wait, true
	case remLapsed:
		return policy.Lapsed, true
	case remUnused:
		return policy.Unused, true
	}
	return 0, false
}

// ByRules reports whether other rules could decide otherwise.
func ByRules(o policy.Outcome) bool {
	return o == policy.Refuse || o.Orphan() || o == policy.Withdraw
}

const recordHead = 1 + 4 + 8 + 8 + 2 + 32 + HashLen

// Append appends the value of the record's row to dst.
func (r Record) Append(dst []byte) []byte {
	why, _ := EncodeWhy(r.Why)
	dst = append(dst, why)
	dst = binary.BigEndian.AppendUint32(dst, r.Epoch)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.Due))
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.Time))
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Kind))
	dst = append(dst, r.Author[:]...)
	dst = append(dst, r.Address[:]...)
	for _, t := range r.Tags {
		if t.Cases != upperCase {
			dst = append(append(dst, t.Name), t.Hash[:]...)
		}
		if t.Cases&upperCase != 0 {
			dst = append(append(dst, t.Name&^lowerBit), t.Hash[:]...)
		}
	}
	return dst
}

// ParseRecord reads the record of an id.
func ParseRecord(id nostr.ID, b []byte) (Record, error) {
	if len(b) < recordHead || (len(b)-recordHead)%(1+HashLen) != 0 {
		return Record{}, fmt.Errorf("record of %s: %w", id, ErrCorrupt)
	}
	why, ok := decodeWhy(b[0])
	if !ok {
		return Record{}, fmt.Errorf("record of %s: %w", id, ErrCorrupt)
	}
	r := Record{Why: why, Epoch: binary.BigEndian.Uint32(b[1:]), Due: int64(binary.BigEndian.Uint64(b[5:]))}
	r.ID = id
	r.Time = int64(binary.BigEndian.Uint64(b[13:]))
	r.Kind = nostr.Kind(binary.BigEndian.Uint16(b[21:]))
	r.Author = nostr.PubKey(b[23:55])
	r.Address = Hash(b[55:recordHead])
	for t := b[recordHead:]; len(t) > 0; t = t[1+HashLen:] {
		r.add(t[0], Hash(t[1:1+HashLen]))
	}
	r.places = nil
	return r, nil
}

// Row returns the value of the record's index rows.
func (r Record) Row() FlaggedRow { return FlaggedRow{Epoch: r.Epoch, Kind: r.Kind, Why: r.Why} }

// slotState says what became of the newest version of a replaceable event.
type slotState byte

const (
	SlotLive      slotState = 1 + iota // it is stored
	SlotGone                           // it was deleted or has expired: older ones do not come back
	SlotWithdrawn                      // it was an announcement that left: older ones do not come back, but it may itself
)

// Slot is the newest version that was ever accepted under one address.
type Slot struct {
	State slotState
	Time  int64
	ID    nostr.ID
	Seq   Seq // of the version, while it is live
	First Seq // of the first version since the address is live, which is its place in the announcement table
}

// Stamp returns the time and the id of the version in the slot.
func (s Slot) Stamp() nostr.Stamp { return nostr.Stamp{CreatedAt: s.Time, ID: s.ID} }

const slotLen = 1 + 8 + 32 + 8 + 8

// Append appends the value of the slot's row to dst.
func (s Slot) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, byte(s.State)), uint64(s.Time))
	dst = append(dst, s.ID[:]...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.Seq))
	return binary.BigEndian.AppendUint64(dst, uint64(s.First))
}

// ParseSlot reads a slot.
func ParseSlot(b []byte) (Slot, error) {
	if len(b) != slotLen || b[0] < byte(SlotLive) || b[0] > byte(SlotWithdrawn) {
		return Slot{}, fmt.Errorf("slot: %w", ErrCorrupt)
	}
	return Slot{
		State: slotState(b[0]),
		Time:  int64(binary.BigEndian.Uint64(b[1:])),
		ID:    nostr.ID(b[9:41]),
		Seq:   Seq(binary.BigEndian.Uint64(b[41:])),
		First: Seq(binary.BigEndian.Uint64(b[49:])),
	}, nil
}

// How long the store remembers an event that is not stored: 7 days and up to one more, by the event's id, so that events which were refused
// together do not come back together. An event that has waited for git data in vain is remembered for a day and up to an hour more: then other
// relays may bring it again, as the data may be there by now. UnusedGate says how long unused deletions are remembered.
const (
	rememberSeconds = 7 * 24 * 3600
	rememberSpread  = 24 * 3600
	lapsedSeconds   = 24 * 3600
	lapsedSpread    = 3600
)

// KeptFor returns how many seconds a record is kept that has a Due.
func (r Record) KeptFor() int64 {
	n := binary.BigEndian.Uint32(r.ID[28:])
	switch r.Why {
	case policy.Lapsed:
		return lapsedSeconds + int64(n%lapsedSpread)
	case policy.Unused:
		return UnusedGateSeconds + int64(n%rememberSpread)
	}
	return rememberSeconds + int64(n%rememberSpread)
}

// MadeAt returns the unix time at which a record was made that has a Due.
func (r Record) MadeAt() int64 { return r.Due - r.KeptFor() }

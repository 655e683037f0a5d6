package store

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// record is what is remembered of a genuine event that is not stored: enough to find it in every index row that it
// has, and to delete those rows again.
type record struct {
	facts
	why   policy.Outcome
	epoch uint32 // of the rules that refused it; 0 where they had no part in it
	due   int64  // unix time at which it is forgotten; 0 is never, as of what waits
}

// The reasons as they are on disk.
const (
	remRefuse     = 1
	remUnrelated  = 2
	remSuperseded = 3
	remDeleted    = 4
	remExpired    = 5
	remVanished   = 6
	remWithdraw   = 7
	remWait       = 8
	remLapsed     = 9
	remUnlisted   = 10
	remOutsider   = 11
	remUnused     = 12
)

func encodeWhy(o policy.Outcome) (byte, bool) {
	switch o {
	case policy.Refuse:
		return remRefuse, true
	case policy.Unrelated:
		return remUnrelated, true
	case policy.Unlisted:
		return remUnlisted, true
	case policy.NoMaintainer:
		return remOutsider, true
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
	case remOutsider:
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

// byRules reports whether other rules could decide otherwise.
func byRules(o policy.Outcome) bool {
	return o == policy.Refuse || o.Orphan() || o == policy.Withdraw
}

const recordHead = 1 + 4 + 8 + 8 + 2 + 32 + hashLen

func (r record) append(dst []byte) []byte {
	why, _ := encodeWhy(r.why)
	dst = append(dst, why)
	dst = binary.BigEndian.AppendUint32(dst, r.epoch)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.due))
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.time))
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.kind))
	dst = append(dst, r.author[:]...)
	dst = append(dst, r.address[:]...)
	for _, t := range r.tags {
		if t.cases != upperCase {
			dst = append(append(dst, t.name), t.hash[:]...)
		}
		if t.cases&upperCase != 0 {
			dst = append(append(dst, t.name&^lowerBit), t.hash[:]...)
		}
	}
	return dst
}

func parseRecord(id nostr.ID, b []byte) (record, error) {
	if len(b) < recordHead || (len(b)-recordHead)%(1+hashLen) != 0 {
		return record{}, fmt.Errorf("record of %s: %w", id, errCorrupt)
	}
	why, ok := decodeWhy(b[0])
	if !ok {
		return record{}, fmt.Errorf("record of %s: %w", id, errCorrupt)
	}
	r := record{why: why, epoch: binary.BigEndian.Uint32(b[1:]), due: int64(binary.BigEndian.Uint64(b[5:]))}
	r.id = id
	r.time = int64(binary.BigEndian.Uint64(b[13:]))
	r.kind = nostr.Kind(binary.BigEndian.Uint16(b[21:]))
	r.author = nostr.PubKey(b[23:55])
	r.address = hash(b[55:recordHead])
	for t := b[recordHead:]; len(t) > 0; t = t[1+hashLen:] {
		r.add(t[0], hash(t[1:1+hashLen]))
	}
	r.places = nil
	return r, nil
}

// row is the value of the record's index rows.
func (r record) row() flaggedRow { return flaggedRow{epoch: r.epoch, kind: r.kind, why: r.why} }

// slotState says what became of the newest version of a replaceable event.
type slotState byte

const (
	slotLive      slotState = 1 + iota // it is stored
	slotGone                           // it was deleted or has expired: older ones do not come back
	slotWithdrawn                      // an announcement that left: older ones do not come back, it may itself
)

// slot is the newest version that was ever accepted under one address.
type slot struct {
	state slotState
	time  int64
	id    nostr.ID
	seq   Seq // of the version, while it is live
	first Seq // of the first version since the address is live: the place in the announcement table
}

// stamp is that of the version in the slot.
func (s slot) stamp() nostr.Stamp { return nostr.Stamp{CreatedAt: s.time, ID: s.id} }

const slotLen = 1 + 8 + 32 + 8 + 8

func (s slot) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, byte(s.state)), uint64(s.time))
	dst = append(dst, s.id[:]...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.seq))
	return binary.BigEndian.AppendUint64(dst, uint64(s.first))
}

func parseSlot(b []byte) (slot, error) {
	if len(b) != slotLen || b[0] < byte(slotLive) || b[0] > byte(slotWithdrawn) {
		return slot{}, fmt.Errorf("slot: %w", errCorrupt)
	}
	return slot{
		state: slotState(b[0]),
		time:  int64(binary.BigEndian.Uint64(b[1:])),
		id:    nostr.ID(b[9:41]),
		seq:   Seq(binary.BigEndian.Uint64(b[41:])),
		first: Seq(binary.BigEndian.Uint64(b[49:])),
	}, nil
}

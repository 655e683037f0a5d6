package layout

import (
	"fmt"
	"strconv"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Seq numbers the entries of the feed, from 1 on. No number is given twice. A reader may never see a number, as its entry may have gone before.
type Seq uint64

// Source says in which way an event came.
type Source uint8

// The sources of an event. Their numbers are on disk.
const (
	Direct  Source = iota // a client published it here
	Live                  // by a live subscription on another relay
	Catchup               // by a catch-up
	Daily                 // by a full resync
)

// String returns the source's name as metrics have it.
func (s Source) String() string {
	switch s {
	case Direct:
		return "direct"
	case Live:
		return "live"
	case Catchup:
		return "catchup"
	case Daily:
		return "daily"
	}
	return "source " + strconv.Itoa(int(s))
}

// Reason says why an event was removed.
type Reason uint8

// The reasons of a removal. Their numbers are on disk.
const (
	ReasonDeleted   Reason = 1 + iota // NIP-09
	ReasonReplaced                    // a newer version came (NIP-01)
	ReasonExpired                     // NIP-40
	ReasonVanished                    // NIP-62
	ReasonWithdrawn                   // it is an announcement that no longer belongs here
	ReasonLapsed                      // the git data that it waited for did not come
	ReasonRefused                     // it waited, and nobody wants it any more
	ReasonBarred                      // the operator does not want it
	ReasonUnused                      // it is a deletion that has removed nothing and has been served for long enough
)

// String returns a word for the reason.
func (r Reason) String() string {
	switch r {
	case ReasonDeleted:
		return "deleted"
	case ReasonReplaced:
		return "replaced"
	case ReasonExpired:
		return "expired"
	case ReasonVanished:
		return "vanished"
	case ReasonWithdrawn:
		return "withdrawn"
	case ReasonLapsed:
		return "lapsed"
	case ReasonRefused:
		return "refused"
	case ReasonBarred:
		return "barred"
	case ReasonUnused:
		return "unused"
	}
	return "reason " + strconv.Itoa(int(r))
}

// Outcome returns the outcome as which a removed event is remembered.
func (r Reason) Outcome() policy.Outcome {
	switch r {
	case ReasonDeleted:
		return policy.Deleted
	case ReasonExpired:
		return policy.Expired
	case ReasonVanished:
		return policy.Vanished
	case ReasonWithdrawn:
		return policy.Withdraw
	case ReasonBarred:
		return policy.Refuse
	case ReasonUnused:
		return policy.Unused
	}
	return policy.Superseded
}

// ReasonOf returns the reason for which the wait of an event ends that is remembered with that outcome.
func ReasonOf(why policy.Outcome) Reason {
	switch why {
	case policy.Superseded:
		return ReasonReplaced
	case policy.Deleted:
		return ReasonDeleted
	case policy.Expired:
		return ReasonExpired
	case policy.Vanished:
		return ReasonVanished
	case policy.Lapsed:
		return ReasonLapsed
	}
	return ReasonRefused
}

// Entry is one step of the feed. An event was added (Event and Source), or began to wait (Waits and Source), or was removed or no longer waits
// (Removed and Reason). An event that waited and is added has no entry of removal.
type Entry struct {
	Seq     Seq
	Event   *nostr.Event
	Waits   *nostr.Event
	Source  Source
	Removed nostr.ID
	Reason  Reason
}

// AddedEntry parses a row of the log.
func AddedEntry(seq Seq, value []byte) (Entry, error) {
	src, json, err := ParseLog(value)
	if err != nil {
		return Entry{}, err
	}
	e, err := nostr.ParseEvent(json)
	if err != nil {
		return Entry{}, fmt.Errorf("entry %d: %w: %w", seq, ErrCorrupt, err)
	}
	return Entry{Seq: seq, Event: e, Source: src}, nil
}

// WaitingEntry parses a row of an event that waits.
func WaitingEntry(seq Seq, value []byte) (Entry, error) {
	e, err := AddedEntry(seq, value)
	e.Event, e.Waits = nil, e.Event
	return e, err
}

// RemovedEntry parses a row of a removal.
func RemovedEntry(seq Seq, value []byte) (Entry, error) {
	id, why, err := parseRemoved(value)
	return Entry{Seq: seq, Removed: id, Reason: why}, err
}

package layout

import (
	"fmt"
	"strconv"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Seq numbers the entries of the feed, from 1 on. A number is never given twice, but may never be seen: what it stood
// for can be gone by the time a reader comes.
type Seq uint64

// Source says which way an event came.
type Source uint8

// The sources of an event. Their numbers are on disk.
const (
	Direct  Source = iota // published here by a client
	Live                  // by a live subscription on another relay
	Catchup               // by a catch-up
	Daily                 // by a full resync
)

// String is the source's name as metrics have it.
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
	ReasonWithdrawn                   // an announcement that no longer belongs here
	ReasonLapsed                      // the git data that it waited for did not come
	ReasonRefused                     // it waited, and is not wanted any more
	ReasonBarred                      // the operator does not want it
	ReasonUnused                      // a deletion that has removed nothing, and is served no longer
)

// String is a word for the reason.
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

// Outcome is what a removed event is remembered as.
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

// ReasonOf is why the wait of an event ends that is remembered for this.
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

// Entry is one step of the feed: an event was added (Event and Source), or began to wait (Waits and Source), or was removed or waits no
// longer (Removed and Reason). One that waited and is added needs no removal.
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

// WaitingEntry parses a row of what waits.
func WaitingEntry(seq Seq, value []byte) (Entry, error) {
	e, err := AddedEntry(seq, value)
	e.Event, e.Waits = nil, e.Event
	return e, err
}

// RemovedEntry parses a row of the removals.
func RemovedEntry(seq Seq, value []byte) (Entry, error) {
	id, why, err := parseRemoved(value)
	return Entry{Seq: seq, Removed: id, Reason: why}, err
}

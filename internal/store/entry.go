package store

import (
	"strconv"

	"graspd/internal/nostr"
	"graspd/internal/policy"
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
	}
	return "reason " + strconv.Itoa(int(r))
}

// outcome is what a removed event is remembered as.
func (r Reason) outcome() policy.Outcome {
	switch r {
	case ReasonDeleted:
		return policy.Deleted
	case ReasonExpired:
		return policy.Expired
	case ReasonVanished:
		return policy.Vanished
	case ReasonWithdrawn:
		return policy.Withdraw
	}
	return policy.Superseded
}

// Entry is one step of the feed: an event was added (Event and Source), or removed (Event is nil, Removed and Reason).
type Entry struct {
	Seq     Seq
	Event   *nostr.Event
	Source  Source
	Removed nostr.ID
	Reason  Reason
}

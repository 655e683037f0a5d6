// Package negentropy compares two sets of events without sending them: the
// set reconciliation of NIP-77, negentropy protocol V1, in both roles.
//
// The package maps messages to messages. It never fetches, stores or waits,
// holds no clock and starts nothing. Whoever has a connection carries the
// messages: as raw bytes here, as hex in NEG-OPEN and NEG-MSG. The relay answers
// with [Respond], which keeps nothing between messages. The sync engine asks
// with an [Initiator]; only the initiator learns the difference.
package negentropy

import "errors"

// MinFrameLimit is the smallest limit of a message in raw bytes. One split of
// a range always fits into it, so every message makes progress. A frame limit of
// 0 or less means no limit; any other below MinFrameLimit means MinFrameLimit.
const MinFrameLimit = 1536

// MaxNeed is how many ids that the initiator lacks a responder may show in one
// reconciliation. A responder sends every such id in full (32 bytes), so an
// initiator keeps no more than it was sent, and at most MaxNeed ids.
const MaxNeed = 1 << 20

var (
	// ErrVersion says that a responder speaks another protocol version.
	ErrVersion = errors.New("other negentropy version")
	// ErrMalformed says that a message is not of protocol V1. It comes
	// wrapped with what is wrong.
	ErrMalformed = errors.New("malformed negentropy message")
	// ErrNoProgress says that a responder keeps an initiator busy without
	// telling it anything.
	ErrNoProgress = errors.New("negentropy makes no progress")
	// ErrTooMany says that a responder showed more than [MaxNeed] ids that
	// the initiator lacks, or that the two sides differ by more than
	// [Initiator.Bound] allows. A narrower filter may help.
	ErrTooMany = errors.New("too many ids in one negentropy reconciliation")
)

// effectiveLimit maps a caller's frame limit to 0, for no limit, or to a limit of
// at least MinFrameLimit.
func effectiveLimit(frameLimit int) int {
	if frameLimit <= 0 {
		return 0
	}
	return max(frameLimit, MinFrameLimit)
}

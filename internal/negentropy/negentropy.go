// Package negentropy compares two sets of events without sending them: the
// set reconciliation of NIP-77, negentropy protocol V1, in both roles.
//
// It maps messages to messages. It never fetches, stores or waits, holds no
// clock and starts nothing; whoever has a connection carries the messages, as
// raw bytes here and as hex in NEG-OPEN and NEG-MSG. The relay answers with
// [Respond], which keeps nothing between messages. The sync engine asks with
// an [Initiator], which alone learns the difference.
package negentropy

import "errors"

// MinFrameLimit is the smallest limit of a message in raw bytes. One split of
// a range always fits into it, so every message makes progress. Where a frame
// limit is asked for, 0 or less means none, and less than this means this.
const MinFrameLimit = 4096

// MaxNeed is how many ids a responder may show in one reconciliation that the
// initiator lacks. Every needed id was received in full (32 bytes), so what an
// initiator keeps never exceeds what was sent to it, nor this many ids.
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
	// the initiator lacks. A narrower filter may do.
	ErrTooMany = errors.New("too many ids in one negentropy reconciliation")
)

// effectiveLimit maps a frame limit as callers state it to 0, which is none,
// or a workable one.
func effectiveLimit(frameLimit int) int {
	if frameLimit <= 0 {
		return 0
	}
	return max(frameLimit, MinFrameLimit)
}

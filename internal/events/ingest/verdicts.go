package ingest

import (
	"errors"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// Verdicts on events that nobody decided. The store remembers none of these events.
var (
	verdictStopped = policy.Verdict{Outcome: policy.Failed, Reason: "error: the relay is shutting down; publish again later"}
	verdictDropped = policy.Verdict{Outcome: policy.Failed, Reason: "error: the connection ended while the relay was busy; publish again"}
	verdictGone    = policy.Verdict{Outcome: policy.Failed, Reason: "error: the event left while it was published again; publish it once more"}
)

// verdictForm is the verdict on an event that is right but for the form that was hashed. The store remembers its id, which no other event has.
var verdictForm = policy.Verdict{Outcome: policy.Refuse, Reason: "invalid: the id is the hash of a form with \\u007f in place of the byte 0x7f, " +
	"which NIP-01 does not escape; hash and sign the event anew"}

// verdictFailed returns the verdict for everybody in a batch that could not be committed. Strangers learn of the disk only that it is full.
func verdictFailed(err error) policy.Verdict {
	switch {
	case errors.Is(err, store.ErrFull):
		return policy.Verdict{Outcome: policy.Failed, Reason: "error: storage full"}
	case errors.Is(err, store.ErrDeposed), errors.Is(err, store.ErrFollows):
		return policy.Verdict{Outcome: policy.Failed, Reason: "error: another node takes events at the moment; try again"}
	}
	return policy.Verdict{Outcome: policy.Failed, Reason: "error: the event could not be stored; publish again later"}
}

// verdictStored returns the verdict that follows from what the store has or remembers. The text says what the client can do.
func verdictStored(o policy.Outcome) policy.Verdict {
	reason := ""
	switch o {
	case policy.Accept:
	case policy.Duplicate:
		reason = "duplicate: this event is already here"
	case policy.Superseded:
		reason = "invalid: a newer version of this event is here; publish with a later created_at to replace it"
	case policy.Deleted:
		reason = "blocked: this event was deleted by its author; publish a new one instead"
	case policy.Expired:
		reason = "invalid: this event has expired (NIP-40); publish one with a later expiration"
	case policy.Vanished:
		reason = "blocked: its author asked this relay to forget everything published before (NIP-62)"
	case policy.Unused:
		reason = "blocked: this deletion request names nothing that was here, and is too old to be served"
	case policy.Invalid:
		reason = "invalid: this event is forged"
	default:
		reason = "blocked: this event was refused here before"
	}
	return policy.Verdict{Outcome: o, Reason: reason}
}

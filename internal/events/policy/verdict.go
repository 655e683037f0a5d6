package policy

import "strings"

// Outcome is what becomes of an event.
type Outcome uint8

// The outcomes. From Withdraw to Unused, the event is genuine and the store remembers it, so that no reconciliation
// fetches it again. Discard, Invalid and Failed leave no trace.
const (
	Accept       Outcome = iota // stored
	Duplicate                   // already here
	Wait                        // stored, and not served until the git data that it names is here (GRASP-01, purgatory)
	Withdraw                    // a version of a served announcement that qualifies no more: the old version goes, and the store only remembers the new one
	Refuse                      // refused for good
	Unlisted                    // an announcement that does not list this service, and whose author nobody here invites
	Unrelated                   // names nothing that is here, and nothing here names it
	NoMaintainer                // speaks for a repository that its author does not maintain here
	Superseded                  // a newer version is here
	Deleted                     // its author deleted it (NIP-09)
	Expired                     // its time is over (NIP-40)
	Vanished                    // its author vanished (NIP-62)
	Lapsed                      // it has waited, and the git data that it names did not come in time
	Unused                      // a deletion that has removed nothing, and is served no longer
	Discard                     // refused for a reason that may not hold the next time
	Invalid                     // forged or malformed
	Failed                      // not decided, for a reason of this relay's own: the disk, a shutdown
)

var outcomes = [...]string{"accept", "duplicate", "wait", "withdraw", "refuse", "unlisted", "unrelated", "no-maintainer", "superseded", "deleted", "expired",
	"vanished", "lapsed", "unused", "discard", "invalid", "failed"}

// String returns the outcome as a word for logs and metrics.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return "unknown"
}

// Orphan reports whether an event was refused only for want of another event, and may be accepted once that other event comes.
func (o Outcome) Orphan() bool { return o == Unlisted || o == Unrelated || o == NoMaintainer }

// Verdict is an outcome, and the text that the client who brings the event hears.
type Verdict struct {
	Outcome Outcome
	Reason  string // the whole OK text with its NIP-01 prefix; "" for a plain accept
}

// OK returns the flag of the OK message: true where the event is here now, served or waiting.
func (v Verdict) OK() bool { return v.Outcome == Accept || v.Outcome == Duplicate || v.Outcome == Wait }

// New reports whether this decision brought the event here: the event is served now, or waits and did not wait before.
func (v Verdict) New() bool {
	return v.Outcome == Accept || v.Outcome == Wait && !strings.HasPrefix(v.Reason, "duplicate:")
}

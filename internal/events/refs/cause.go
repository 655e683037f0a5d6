package refs

// Cause is why a push may not change a ref. Metrics count by causes.
type Cause uint8

// The causes.
const (
	None              Cause = iota // not refused
	NoState                        // no state has the refs that the push makes
	OtherState                     // the state that waits has other refs than the push would leave
	FlawedState                    // no repository can be as the state says
	OlderState                     // a newer state rules
	NotMaintainer                  // the state is by somebody who does not decide for the repository
	Moved                          // the ref is not at the object that the push expects
	WithOthers                     // another ref of the push is refused, and this one stands or falls with it
	Twice                          // the push names the ref more than once
	Namespace                      // the repository keeps no refs of that namespace
	BadTipName                     // refs/nostr/ is followed by something else than an event id
	TipDeleted                     // the push deletes the tip of a pull request
	NoPullRequest                  // the event with that id has no tip
	OtherRepository                // the event does not name the repository
	OtherTip                       // the event names another commit
	PendingOther                   // another commit waits under that name
	PendingPush                    // too many tips of unknown events in one push
	PendingRepository              // too many tips of unknown events in the repository, or too many bytes
	PendingAddress                 // too many from one address, or too many bytes
	PendingNetwork                 // too many from one network of addresses, or too many bytes
	PendingAll                     // too many in all, or too many bytes
	causes
)

var causeNames = [causes]string{"none", "no_state", "other_state", "flawed_state", "older_state", "not_maintainer", "moved",
	"with_others", "twice", "namespace", "bad_tip_name", "tip_deleted", "no_pull_request", "other_repository", "other_tip",
	"pending_other", "pending_push", "pending_repository", "pending_address", "pending_network", "pending_all"}

// String returns the cause as a word for logs and metrics.
func (c Cause) String() string {
	if c < causes {
		return causeNames[c]
	}
	return "unknown"
}

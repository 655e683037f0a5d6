package policy

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// MaxAhead is how far the created_at of an event may lie in the future.
const MaxAhead = 15 * time.Minute

// version is raised whenever a change of this package makes other events acceptable, so that graspd asks again for what it refused.
const version = 3

// Rules are what an operator can decide about acceptance. The zero value lists nothing, so it accepts nothing.
type Rules struct {
	Service      grasp.Service // where announcements must list this relay
	MinPoW       int           // bits of proof of work that an event must show (NIP-13), whoever brings it; 0 is none
	Lists        Lists         // the operator's lists
	Contributors bool          // the relay takes pull requests that name a repository of their signer at /prs (GRASP-06)
	Mailboxes    bool          // the relay takes lists of relays (kind 10002) of participants (GRASP-03)
	Private      bool          // only members read here (GRASP-08), so private repositories may be archived
	Git          bool          // the relay hosts repositories, so announcements must have a clone URL of the service too
}

// Loosens reports whether r may accept an event that old refuses.
func (r Rules) Loosens(old Rules) bool {
	return r.Service != old.Service || r.MinPoW < old.MinPoW || old.Git && !r.Git || r.Contributors && !old.Contributors ||
		r.Mailboxes && !old.Mailboxes || r.Private && !old.Private || r.Lists.Loosens(old.Lists)
}

// Fingerprint returns a text that differs where the same event could be decided otherwise: it covers all of the Rules, and version.
func (r Rules) Fingerprint() string {
	s := fmt.Sprintf("%d %s pow %d", version, r.Service, r.MinPoW)
	if l := r.Lists.fingerprint(); l != "" {
		s += " lists " + l
	}
	if r.Git {
		s += " git"
	}
	if r.Contributors {
		s += " contributors"
	}
	if r.Mailboxes {
		s += " mailboxes"
	}
	if r.Private {
		s += " private"
	}
	if a := r.Lists.Archive.fingerprint(); a != "" {
		s += " archive " + a
	}
	return s
}

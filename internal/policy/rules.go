package policy

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/grasp"
)

// MaxAhead is how far the created_at of an event may lie in the future.
const MaxAhead = 15 * time.Minute

// version is raised whenever a change of this package makes other events acceptable, so that what was refused is asked for again.
const version = 3

// Rules are what an operator can decide about acceptance. The zero value lists nothing, so it accepts nothing.
type Rules struct {
	Service      grasp.Service // where announcements must list this relay
	MinPoW       int           // bits of proof of work that an event must show (NIP-13), however it comes; 0 is none
	Lists        Lists         // authors and repositories that are taken, or not
	Contributors bool          // pull requests are taken that name a repository of their signer at /prs (GRASP-06)
	Mailboxes    bool          // lists of relays (kind 10002) of participants are taken (GRASP-03)
	Private      bool          // only members read here (GRASP-08), so private repositories may be archived
	Git          bool          // repositories are hosted, so announcements must have a clone URL of the service too
}

// Loosens reports whether r may accept an event that old refused.
func (r Rules) Loosens(old Rules) bool {
	return r.Service != old.Service || r.MinPoW < old.MinPoW || old.Git && !r.Git || r.Contributors && !old.Contributors ||
		r.Mailboxes && !old.Mailboxes || r.Private && !old.Private || r.Lists.Loosens(old.Lists)
}

// Fingerprint changes when the same event could be decided otherwise: with any of the Rules, and with version.
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

package ingest

import (
	"log/slog"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// warnCredentials tells the publisher of an announcement that is taken, and the operator, that a clone URL with a user name or password is not
// used. The log has no part of the URL.
func warnCredentials(log *slog.Logger, e *nostr.Event, v policy.Verdict) policy.Verdict {
	if e.Kind != nip34.KindRepository || v.Outcome != policy.Accept && v.Outcome != policy.Wait {
		return v
	}
	a, err := nip34.ParseAnnouncement(e)
	if err != nil || !slices.ContainsFunc(a.Clone, grasp.HasCredentials) {
		return v
	}
	log.Warn("an announcement has a clone URL with a user name or password, which is not used", "event", e.ID.String())
	if v.Reason != "" {
		v.Reason += "; "
	}
	v.Reason += "a clone URL with a user name or password is not used, and everybody can read it: change the password, and publish the URL without it"
	return v
}

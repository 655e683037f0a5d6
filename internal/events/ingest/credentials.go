package ingest

import (
	"log/slog"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// warnCredentials tells the publisher of an event that is taken, and the operator, that a clone URL with a user name or password is not
// used. The log has no part of the URL.
func warnCredentials(log *slog.Logger, e *nostr.Event, v policy.Verdict) policy.Verdict {
	if v.Outcome != policy.Accept && v.Outcome != policy.Wait || !slices.ContainsFunc(cloneURLs(e), grasp.HasCredentials) {
		return v
	}
	log.Warn("an event has a clone URL with a user name or password, which is not used", "event", e.ID.String())
	if v.Reason != "" {
		v.Reason += "; "
	}
	v.Reason += "a clone URL with a user name or password is not used, and everybody can read it: change the password, and publish the URL without it"
	return v
}

// cloneURLs returns the clone URLs of an announcement, a pull request or an update, as written.
func cloneURLs(e *nostr.Event) []string {
	if a, err := nip34.ParseAnnouncement(e); err == nil {
		return a.Clone
	}
	if t, err := nip34.ParseTip(e); err == nil {
		return t.Clone
	}
	return nil
}

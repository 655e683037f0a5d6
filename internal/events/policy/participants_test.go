package policy_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Profiles and lists are taken from those who take part, and from nobody whose profile or deletion alone is left.
func TestProfilesAndListsOfParticipants(t *testing.T) {
	issue := event("dave", nip34.KindIssue, tag("a", repo("alice")))
	on := rules(t)
	on.Mailboxes = true
	for _, tc := range []struct {
		name string
		r    policy.Rules
		here *nostr.Event
		kind nostr.Kind
		want policy.Outcome
	}{
		{"profile", rules(t), issue, nostr.KindMetadata, policy.Accept},
		{"servers", rules(t), issue, nip34.KindGraspList, policy.Accept},
		{"relays without mailboxes", rules(t), issue, nostr.KindRelayList, policy.Unrelated},
		{"relays", on, issue, nostr.KindRelayList, policy.Accept},
		{"profile, of one whose deletion is left", on, event("dave", nostr.KindDeletion, tag("e", issue.ID.String())), nostr.KindMetadata, policy.Unrelated},
		{"relays, of one whose profile is left", on, event("dave", nostr.KindMetadata), nostr.KindRelayList, policy.Unrelated},
		{"relays, of one whose servers are left", on, event("dave", nip34.KindGraspList), nostr.KindRelayList, policy.Unrelated},
		{"servers, of one whose relays are left", on, event("dave", nostr.KindRelayList), nip34.KindGraspList, policy.Unrelated},
		{"relays, of one who has reported somebody", on, event("dave", nostr.KindReport, tag("p", key("alice").String())), nostr.KindRelayList, policy.Unrelated},
		{"relays of a stranger", on, event("erin", nip34.KindIssue, tag("a", repo("alice"))), nostr.KindRelayList, policy.Unrelated},
		{"follows", on, issue, nostr.KindFollows, policy.Unrelated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := carrying()
			v.add(tc.here)
			if got := decideBy(t, tc.r, policy.Stranger, v, event("dave", tc.kind, tag("r", "wss://there.example"))); got.Outcome != tc.want {
				t.Errorf("%v %q", got.Outcome, got.Reason)
			}
		})
	}
	long := event("dave", nostr.KindRelayList, tag("r", strings.Repeat("x", policy.MaxProfileBytes)))
	v := carrying()
	v.add(issue)
	if got := decideBy(t, on, policy.Stranger, v, long); got.Outcome != policy.Refuse {
		t.Errorf("a list of any length: %v", got)
	}
	if !on.Loosens(rules(t)) || rules(t).Loosens(on) || on.Fingerprint() == rules(t).Fingerprint() {
		t.Error("that lists are taken now changes nothing")
	}
}

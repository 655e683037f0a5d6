package policy_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestRequestsToVanish(t *testing.T) {
	for _, tc := range []struct {
		name   string
		author string
		tags   nostr.Tags
		want   policy.Outcome
		reason string
	}{
		{"this relay", "alice", nostr.Tags{{"relay", ours}}, policy.Accept, ""},
		{"this relay, otherwise written", "alice", nostr.Tags{{"relay", "WSS://Relay.Example.org:443/"}}, policy.Accept, ""},
		{"this relay, without TLS", "alice", nostr.Tags{{"relay", "ws://relay.example.org"}}, policy.Accept, ""},
		{"among others", "alice", nostr.Tags{{"relay", "wss://a.example.org"}, {"relay"}, {"relay", ""}, {"relay", ours, "x"}}, policy.Accept, ""},
		{"all relays", "alice", nostr.Tags{{"relay", "ALL_RELAYS"}}, policy.Accept, ""},
		{"all relays in lower case", "alice", nostr.Tags{{"relay", "all_relays"}}, policy.Refuse, "blocked: this request to vanish does not name"},
		{"another relay", "alice", nostr.Tags{{"relay", "wss://evil-relay.example.org"}}, policy.Refuse, "blocked: this request to vanish does not name"},
		{"another port", "alice", nostr.Tags{{"relay", "wss://relay.example.org:8443"}}, policy.Refuse, "blocked: this request to vanish does not name"},
		{"another path", "alice", nostr.Tags{{"relay", ours + "/other"}}, policy.Refuse, "blocked: this request to vanish does not name"},
		{"no relay", "alice", nil, policy.Refuse, "blocked: this request to vanish does not name"},
		{"in another tag", "alice", nostr.Tags{{"r", ours}, {"relays", ours}, {"d", "relay", "ALL_RELAYS"}}, policy.Refuse, "blocked: this request"},
		{"behind another relay in the tag", "alice", nostr.Tags{{"relay", "wss://a.example.org", ours}}, policy.Refuse, "blocked: this request"},
		{"no URL", "alice", nostr.Tags{{"relay", "relay.example.org/\x00"}}, policy.Refuse, "blocked: this request"},
		{"nothing here", "bob", nostr.Tags{{"relay", ours}}, policy.Unrelated, "blocked: this relay has nothing by this author"},
		{"nothing here, all relays", "bob", nostr.Tags{{"relay", "ALL_RELAYS"}}, policy.Unrelated, "blocked: this relay has nothing by this author"},
		{"nothing here, but it names something", "bob", nostr.Tags{{"relay", ours}, {"a", repo("alice")}}, policy.Unrelated, "blocked: this relay has nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := decide(t, carrying(), event(tc.author, nostr.KindVanish, tc.tags...))
			if got.Outcome != tc.want || !strings.HasPrefix(got.Reason, tc.reason) {
				t.Fatalf("got %v %q", got.Outcome, got.Reason)
			}
		})
	}
}

// What was refused as such a request by an earlier version is asked for again.
func TestTheFingerprintTellsThatRequestsAreTaken(t *testing.T) {
	if got := rules(t).Fingerprint(); strings.HasPrefix(got, "1 ") {
		t.Errorf("the fingerprint is %q", got)
	}
}

// An author of whom only something by others is here is no author here.
func TestVanishAfterTheLastEventLeft(t *testing.T) {
	v := carrying()
	v.add(event("bob", nip34.KindIssue, tag("a", repo("alice")), tag("p", key("carol").String())))
	if got := decide(t, v, event("carol", nostr.KindVanish, tag("relay", ours))); got.Outcome != policy.Unrelated {
		t.Errorf("got %v", got)
	}
}

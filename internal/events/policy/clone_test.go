package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestAnnouncementsNeedACloneURL: where repositories are hosted an announcement lists this service in both of its tags (GRASP-01). What
// was here before stays, in newer versions too, and whoever is invited needs neither.
func TestAnnouncementsNeedACloneURL(t *testing.T) {
	d, relays, elsewhere := tag("d", "d"), tag("relays", ours), tag("relays", "wss://elsewhere.example")
	clone := func(name string) nostr.Tag {
		return tag("clone", "https://elsewhere.example/x.git", "https://relay.example.org/"+nip19.Npub(key(name))+"/d.git")
	}
	old := func(tags ...nostr.Tag) *nostr.Event {
		return eventAt(now.Add(-time.Hour), "alice", nip34.KindRepository, tags...)
	}
	bob := tag("maintainers", key("bob").String())
	for _, tc := range []struct {
		name string
		here []*nostr.Event
		e    *nostr.Event
		want policy.Outcome
		says string
	}{
		{"both", nil, event("alice", 30617, d, relays, clone("alice")), policy.Accept, ""},
		{"a relay alone", nil, event("alice", 30617, d, relays), policy.Unlisted, "https://relay.example.org/" + nip19.Npub(key("alice")) + "/d.git"},
		{"a clone URL alone", nil, event("alice", 30617, d, elsewhere, clone("alice")), policy.Unlisted, "(with ngit: ngit repo edit --add-grasp-server relay.example.org, or at first ngit init --grasp-server relay.example.org --defaults; then git push, and everybody clones https://relay.example.org/" + nip19.Npub(key("alice")) + "/d.git)"},
		{"neither, and without a name", nil, event("alice", 30617, elsewhere), policy.Unlisted, "--defaults; then git push)"},
		{"a newer version of what came before", []*nostr.Event{old(d, relays)}, event("alice", 30617, d, relays), policy.Accept, ""},
		{"a newer version that leaves", []*nostr.Event{old(d, relays, clone("alice"))}, event("alice", 30617, d, relays), policy.Withdraw, "no clone URL"},
		{"a newer version of what came before, which leaves", []*nostr.Event{old(d, relays)}, event("alice", 30617, d, elsewhere), policy.Withdraw, "; then git push, and everybody clones "},
		{"beside another's that came before", []*nostr.Event{old(d, relays)}, event("carol", 30617, d, relays), policy.Unlisted, "no URL of this service"},
		{"without a name", nil, event("alice", 30617, tag("d", ""), relays, clone("alice")), policy.Unlisted, "invalid: the d tag of the announcement is empty, so its repository has no URL here"},
		{"a newer version without a name", []*nostr.Event{old(tag("d", ""), relays, clone("alice")), old(d, relays)}, event("carol", 30617, relays), policy.Unlisted, "the d tag of the announcement is empty"},
		{"a clone URL with a password", nil, event("alice", 30617, d, relays, tag("clone", "https://me:pw@relay.example.org/"+nip19.Npub(key("alice"))+"/d.git")), policy.Unlisted, "has a user name or password"},
		{"invited", []*nostr.Event{old(d, relays, bob)}, event("bob", 30617, d, relays), policy.Accept, ""},
		{"the state of what came before", []*nostr.Event{old(d, relays)}, event("alice", 30618, d), policy.Accept, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &memory{}
			v.add(tc.here...)
			rules := policy.Rules{Service: service(t, "relay.example.org"), Git: true}
			got, err := rules.Decide(tc.e, policy.Stranger, v, now)
			if err != nil || got.Outcome != tc.want || !strings.Contains(got.Reason, tc.says) {
				t.Errorf("%v, %v; want %v %q", got, err, tc.want, tc.says)
			}
			if got.Outcome == policy.Accept && got.Reason != "" {
				t.Errorf("%q", got.Reason)
			}
		})
	}
	v := &memory{}
	if got, err := (policy.Rules{Service: service(t, "relay.example.org")}).Decide(event("alice", 30617, d, elsewhere), policy.Stranger, v, now); err != nil || !strings.HasSuffix(got.Reason, "--defaults)") {
		t.Errorf("of a relay without git data: %q, %v", got.Reason, err)
	}
	with, without := policy.Rules{Git: true}, policy.Rules{}
	if with.Fingerprint() == without.Fingerprint() || with.Loosens(without) || !without.Loosens(with) {
		t.Error("the rules do not tell whether repositories are hosted")
	}
}

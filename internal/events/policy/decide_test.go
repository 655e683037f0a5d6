package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// What the event alone tells is decided without asking the store: the view is nil.
func TestDecideAlone(t *testing.T) {
	unix := func(d time.Duration) string { return itoa(now.Add(d).Unix()) }
	at := func(d time.Duration, tags ...nostr.Tag) *nostr.Event { return eventAt(now.Add(d), "alice", 1, tags...) }
	longD := tag("d", strings.Repeat("x", nip34.MaxIdentifier+1))
	for _, tc := range []struct {
		name   string
		e      *nostr.Event
		want   policy.Outcome
		reason string
	}{
		{"authentication", event("alice", nostr.KindAuth), policy.Discard, "invalid: kind 22242"},
		{"ephemeral", event("alice", 20001, tag("a", repo("alice"))), policy.Discard, "blocked: this relay takes no ephemeral"},
		{"last ephemeral", event("alice", 29999), policy.Discard, "blocked: this relay takes no ephemeral"},
		{"protected", event("alice", 1, tag("-")), policy.Refuse, "auth-required: this event is protected"},
		{"protected announcement", event("alice", 30617, tag("d", "d"), tag("relays", ours), tag("-")), policy.Refuse,
			"auth-required: this event is protected"},
		{"protected and ahead", &nostr.Event{CreatedAt: 1<<63 - 1, Tags: nostr.Tags{{"-"}}}, policy.Discard, "invalid: created_at is too far in the future"},
		{"16 minutes ahead", at(16 * time.Minute), policy.Discard, "invalid: created_at is too far in the future"},
		{"15 minutes and a second ahead", at(15*time.Minute + time.Second), policy.Discard, "invalid: created_at is too far"},
		{"for ever ahead", &nostr.Event{CreatedAt: 1<<63 - 1}, policy.Discard, "invalid: created_at is too far in the future"},
		{"ahead and expired", at(time.Hour, tag("expiration", unix(-time.Hour))), policy.Discard, "invalid: created_at is too far"},
		{"expired", at(0, tag("expiration", unix(-time.Hour))), policy.Expired, "invalid: this event has expired"},
		{"expires now", at(0, tag("expiration", unix(0))), policy.Expired, "invalid: this event has expired"},
		{"expired announcement", event("alice", 30617, tag("relays", ours), tag("expiration", unix(-1))), policy.Expired,
			"invalid: this event has expired"},
		{"d of an announcement too long", event("alice", 30617, longD, tag("relays", ours)), policy.Refuse, "invalid: the d tag"},
		{"d of a state too long", event("alice", 30618, longD), policy.Refuse, "invalid: the d tag"},
		{"any d too long", event("alice", 30023, longD), policy.Refuse, "invalid: the d tag"},
		{"too large", sized(policy.MaxEventBytes + 1), policy.Refuse, "invalid: this event is larger than 131072 bytes"},
		{"too large by its tags", event("alice", 1, tag("e", strings.Repeat("x", policy.MaxEventBytes))), policy.Refuse, "invalid: this event is larger than"},
		{"too many tags", event("alice", 1, slices.Repeat([]nostr.Tag{tag("t")}, policy.MaxEventTags+1)...), policy.Refuse, "invalid: this event has more than 2000 tags"},
		{"an empty tag", event("alice", 1, tag("a", repo("alice")), tag(), tag("t", "x")), policy.Refuse, "invalid: this event has a tag that is an empty array"},
		{"too large and from the future", eventAt(now.Add(time.Hour), "alice", 1, slices.Repeat([]nostr.Tag{tag("t")}, policy.MaxEventTags+1)...), policy.Refuse, "invalid: this event has more than 2000 tags"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := decide(t, nil, tc.e)
			if got.Outcome != tc.want || !strings.HasPrefix(got.Reason, tc.reason) {
				t.Fatalf("got %v %q", got.Outcome, got.Reason)
			}
		})
	}
}

// TestLargeStates: a state may be larger than anything else, by its branches and tags alone.
func TestLargeStates(t *testing.T) {
	refs := make([]nostr.Tag, 0, 2*nip34.MaxRefs)
	for i := range nip34.MaxRefs {
		name := fmt.Sprintf("refs/tags/%0210d", i)
		refs = append(refs, tag(name, strings.Repeat("0", 40)), tag("refs/tags/"+itoa(int64(i))+"^{}", "x"))
	}
	state := func(tags ...nostr.Tag) *nostr.Event {
		return event("alice", nip34.KindState, append(tags, tag("d", "d"))...)
	}
	with := func(n int, t nostr.Tag) *nostr.Event {
		return state(append(slices.Repeat([]nostr.Tag{t}, n), refs...)...)
	}
	padded := func(more int) *nostr.Event {
		e := state(refs...)
		e.Content = strings.Repeat("x", policy.MaxStateBytes-e.Size()+more)
		return e
	}
	for _, tc := range []struct {
		name   string
		e      *nostr.Event
		reason string
	}{
		{"10,000 of each, and as many other tags as other events have", with(policy.MaxEventTags-1, tag("e", "x")), ""},
		{"one tag more that it is found by", with(policy.MaxEventTags, tag("e", "x")), "invalid: this event has more than 2000 tags"},
		{"3 MiB", padded(0), ""},
		{"a byte more", padded(1), "invalid: this event is larger than 3145728 bytes"},
		{"more tags than a message has", state(slices.Repeat([]nostr.Tag{tag("refs/")}, nostr.MaxStrings)...), "invalid: this event has more than 65536 tags"},
		{"an announcement like that", event("alice", nip34.KindRepository, append(refs, tag("d", "d"))...), "invalid: this event is larger than 131072 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := decide(t, carrying(), tc.e)
			if (got.Outcome == policy.Accept) != (tc.reason == "") || !strings.HasPrefix(got.Reason, tc.reason) {
				t.Errorf("got %v %q", got.Outcome, got.Reason)
			}
		})
	}
}

// The same limits from their other side: these are accepted because they name a repository here.
func TestDecideWithinLimits(t *testing.T) {
	v := carrying()
	in := tag("a", repo("alice"))
	for _, tc := range []struct {
		name string
		e    *nostr.Event
	}{
		{"15 minutes ahead", eventAt(now.Add(15*time.Minute), "bob", 1, in)},
		{"of 1970", eventAt(time.Unix(0, 0), "bob", 1, in)},
		{"expires in a second", event("bob", 1, in, tag("expiration", itoa(now.Unix()+1)))},
		{"unreadable expiration", event("bob", 1, in, tag("expiration", "soon"))},
		{"kind 19999", event("bob", 19999, in)},
		{"largest", sized(policy.MaxEventBytes, in)},
		{"most tags", event("bob", 1, append(slices.Repeat([]nostr.Tag{tag("t", "x")}, policy.MaxEventTags-1), in)...)},
		{"a tag with an empty name", event("bob", 1, in, tag(""))},
		{"kind 30000", event("bob", 30000, in)},
		{"longest d", event("bob", 30023, in, tag("d", strings.Repeat("x", nip34.MaxIdentifier)))},
		{"d that means nothing", event("bob", 1, in, tag("d", strings.Repeat("x", nip34.MaxIdentifier+1)))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := decide(t, v, tc.e); got != (policy.Verdict{}) {
				t.Fatalf("got %v %q", got.Outcome, got.Reason)
			}
		})
	}
}

// What was refused because the clock was a day behind leaves no trace, and is taken once the clock is right.
func TestRefusedByAWrongClock(t *testing.T) {
	v, e := carrying(), event("bob", nip34.KindIssue, tag("a", repo("alice")))
	got, err := rules(t).Decide(e, policy.Stranger, v, now.Add(-24*time.Hour))
	if err != nil || got.Outcome != policy.Discard {
		t.Fatalf("a day behind: %v, %v", got, err)
	}
	if got := decide(t, v, e); got.Outcome != policy.Accept {
		t.Fatalf("clock right: %v", got)
	}
}

func TestDecideAnnouncement(t *testing.T) {
	relays := tag("relays", "wss://elsewhere.example", ours)
	elsewhere := tag("relays", "wss://elsewhere.example")
	listing := func(names ...string) nostr.Tag {
		list := tag("maintainers")
		for _, n := range names {
			list = append(list, key(n).String())
		}
		return list
	}
	d := tag("d", "d")
	alice := event("alice", 30617, d, relays, listing("bob"))
	for _, tc := range []struct {
		name string
		here []*nostr.Event
		e    *nostr.Event
		want policy.Outcome
	}{
		{"lists us", nil, event("alice", 30617, d, relays), policy.Accept},
		{"lists us in a tag of its own", nil, event("alice", 30617, d, elsewhere, tag("relays", ours)), policy.Accept},
		{"lists us without d", nil, event("alice", 30617, relays), policy.Accept},
		{"lists us, newer version", []*nostr.Event{alice}, event("alice", 30617, d, relays), policy.Accept},
		{"fork lists us", nil, event("alice", 30617, d, relays, tag("u", repo("bob"))), policy.Accept},
		{"does not list us", nil, event("alice", 30617, d, elsewhere), policy.Unlisted},
		{"lists us by clone only", nil, event("alice", 30617, d, elsewhere, tag("clone", "https://relay.example.org/x")), policy.Unlisted},
		{"lists us by r only", nil, event("alice", 30617, d, tag("r", ours)), policy.Unlisted},
		{"no relays", nil, event("alice", 30617, d), policy.Unlisted},
		{"look-alike host", nil, event("alice", 30617, d, tag("relays", "wss://evil-relay.example.org")), policy.Unlisted},
		{"names an accepted repository", []*nostr.Event{alice}, event("carol", 30617, d, elsewhere, tag("a", repo("alice"))), policy.Unlisted},
		{"is named by an accepted event", []*nostr.Event{alice, event("dave", 1621, tag("a", repo("alice")), tag("a", repo("carol")))},
			event("carol", 30617, d, elsewhere), policy.Unlisted},

		{"newer version left", []*nostr.Event{alice}, event("alice", 30617, d, elsewhere), policy.Withdraw},
		{"another repository of his", []*nostr.Event{alice}, event("alice", 30617, tag("d", "e"), elsewhere), policy.Unlisted},
		{"version after it left", nil, event("alice", 30617, d, elsewhere), policy.Unlisted},

		{"invited", []*nostr.Event{alice}, event("bob", 30617, d, elsewhere), policy.Accept},
		{"invited, lists back", []*nostr.Event{alice}, event("bob", 30617, d, elsewhere, listing("alice")), policy.Accept},
		{"invited to another d", []*nostr.Event{alice}, event("bob", 30617, tag("d", "e"), elsewhere), policy.Unlisted},
		{"invites himself", []*nostr.Event{alice}, event("carol", 30617, d, elsewhere, listing("alice", "carol")), policy.Unlisted},
		{"invited, but forks", []*nostr.Event{alice}, event("bob", 30617, d, elsewhere, tag("u", repo("alice"))), policy.Unlisted},
		{"invited, but declines", []*nostr.Event{alice},
			event("bob", 30617, d, elsewhere, tag("m", key("bob").String(), "1", "2")), policy.Unlisted},
		{"no longer a fork", []*nostr.Event{alice, event("bob", 30617, d, relays, tag("u", repo("alice")))},
			event("bob", 30617, d, elsewhere), policy.Accept},
		{"invited by an invited one", []*nostr.Event{alice, event("bob", 30617, d, elsewhere, listing("carol"))},
			event("carol", 30617, d, elsewhere), policy.Unlisted},
		{"invited by a maintainer", []*nostr.Event{alice, event("bob", 30617, d, elsewhere, listing("alice", "carol"))},
			event("carol", 30617, d, elsewhere), policy.Accept},
		{"invited by one who is no longer invited", []*nostr.Event{event("bob", 30617, d, elsewhere, listing("carol"))},
			event("carol", 30617, d, elsewhere), policy.Unlisted},
		{"leaves, but is invited", []*nostr.Event{alice, event("bob", 30617, d, relays)},
			event("bob", 30617, d, elsewhere), policy.Accept},
		{"invited by his own older version only", []*nostr.Event{event("bob", 30617, d, relays, listing("bob"))},
			event("bob", 30617, d, elsewhere), policy.Withdraw},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &memory{}
			v.add(tc.here...)
			got := decide(t, v, tc.e)
			if got.Outcome != tc.want || got.OK() != (tc.want == policy.Accept) {
				t.Fatalf("got %v %q", got.Outcome, got.Reason)
			}
			if !got.OK() && !strings.Contains(got.Reason, "("+ours+")") {
				t.Errorf("does not say what to add: %q", got.Reason)
			}
		})
	}
}

func TestDecideState(t *testing.T) {
	d := tag("d", "d")
	elsewhere := tag("relays", "wss://elsewhere.example")
	alice := event("alice", 30617, d, tag("relays", ours), tag("maintainers", key("bob").String()))
	bob := event("bob", 30617, d, elsewhere)
	for _, tc := range []struct {
		name string
		here []*nostr.Event
		e    *nostr.Event
		want policy.Outcome
	}{
		{"by the owner", []*nostr.Event{alice}, event("alice", 30618, d, tag("HEAD", "ref: refs/heads/main")), policy.Accept},
		{"without refs", []*nostr.Event{alice}, event("alice", 30618, d), policy.Accept},
		{"before its announcement", nil, event("alice", 30618, d), policy.NoMaintainer},
		{"another d", []*nostr.Event{alice}, event("alice", 30618, tag("d", "e")), policy.NoMaintainer},
		{"no d, nor the announcement", []*nostr.Event{event("alice", 30617, tag("relays", ours))}, event("alice", 30618), policy.Accept},
		{"by somebody with an announcement", []*nostr.Event{alice, bob}, event("bob", 30618, d), policy.Accept},
		{"by somebody only listed", []*nostr.Event{alice}, event("bob", 30618, d), policy.NoMaintainer},
		{"by a stranger", []*nostr.Event{alice}, event("carol", 30618, d), policy.NoMaintainer},
		{"by a stranger who names the repository", []*nostr.Event{alice}, event("carol", 30618, d, tag("a", repo("alice"))), policy.NoMaintainer},
		{"by a stranger, of his own older state", []*nostr.Event{event("carol", 30618, d)}, event("carol", 30618, d, elsewhere), policy.NoMaintainer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &memory{}
			v.add(tc.here...)
			if got := decide(t, v, tc.e); got.Outcome != tc.want {
				t.Fatalf("got %v %q", got.Outcome, got.Reason)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	base := rules(t).Fingerprint()
	if base != rules(t).Fingerprint() {
		t.Error("not the same for the same rules")
	}
	for _, domain := range []string{"relay.example.com", "relay.example.org:7334", "relay.example.org/base"} {
		if got := (policy.Rules{Service: service(t, domain)}).Fingerprint(); got == base {
			t.Errorf("%s: %q as before", domain, got)
		}
	}
	harder := rules(t)
	harder.MinPoW = 1
	if got := harder.Fingerprint(); got == base {
		t.Errorf("another difficulty: %q as before", got)
	}
}

// sized is an event of bob's that takes so many bytes.
func sized(bytes int, tags ...nostr.Tag) *nostr.Event {
	e := event("bob", 1, tags...)
	e.Content = strings.Repeat("x", bytes-e.Size())
	e.ID = e.ComputeID()
	return e
}

package policy_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestBearerOf(t *testing.T) {
	e := event("alice", 1)
	for _, tc := range []struct {
		name string
		keys []nostr.PubKey
		want policy.Bearer
	}{
		{"nobody", nil, policy.Stranger},
		{"somebody else", []nostr.PubKey{key("bob")}, policy.Another},
		{"the author", []nostr.PubKey{key("alice")}, policy.Author},
		{"the author among others", []nostr.PubKey{key("bob"), key("alice"), key("carol")}, policy.Author},
	} {
		if got := policy.BearerOf(e, tc.keys); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Protected events are taken from their authors in person, whatever else the rules ask of them holds as well.
func TestProtected(t *testing.T) {
	in, minus := tag("a", repo("alice")), tag("-")
	for _, tc := range []struct {
		name   string
		by     policy.Bearer
		e      *nostr.Event
		want   policy.Outcome
		prefix string
	}{
		{"from a stranger", policy.Stranger, event("bob", 1, in, minus), policy.Refuse, "auth-required: "},
		{"from somebody else", policy.Another, event("bob", 1, in, minus), policy.Refuse, "restricted: "},
		{"from its author", policy.Author, event("bob", 1, in, minus), policy.Accept, ""},
		{"an announcement from its author", policy.Author, event("bob", nip34.KindRepository, tag("d", "x"), tag("relays", ours), minus), policy.Accept, ""},
		{"a deletion from a stranger", policy.Stranger, event("alice", nostr.KindDeletion, in, minus), policy.Refuse, "auth-required: "},
		{"from its author, naming nothing here", policy.Author, event("bob", 1, minus), policy.Unrelated, "blocked: "},
		{"authentication, from its author", policy.Author, event("bob", nostr.KindAuth, in), policy.Discard, "invalid: kind 22242"},
		{"a tag of another name", policy.Stranger, event("bob", 1, in, tag("--")), policy.Accept, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := decideBy(t, rules(t), tc.by, carrying(), tc.e)
			if got.Outcome != tc.want || !strings.HasPrefix(got.Reason, tc.prefix) {
				t.Errorf("got %v %q", got.Outcome, got.Reason)
			}
		})
	}
}

// A repost does not carry a protected event past its protection.
func TestRepostOfProtected(t *testing.T) {
	in := tag("a", repo("alice"))
	secret, plain := event("bob", 1, tag("-")), event("bob", 1)
	repost := func(kind nostr.Kind, content string) *nostr.Event {
		e := event("carol", kind, in)
		e.Content = content
		return e
	}
	for _, tc := range []struct {
		name string
		e    *nostr.Event
		want policy.Outcome
	}{
		{"of a protected note", repost(nostr.KindRepost, string(secret.AppendJSON(nil))), policy.Refuse},
		{"of any protected event", repost(nostr.KindGenericRepost, string(secret.AppendJSON(nil))), policy.Refuse},
		{"with spaces", repost(nostr.KindRepost, " "+string(secret.AppendJSON(nil))+"\n"), policy.Refuse},
		{"of a plain note", repost(nostr.KindRepost, string(plain.AppendJSON(nil))), policy.Accept},
		{"empty", repost(nostr.KindRepost, ""), policy.Accept},
		{"of no event", repost(nostr.KindRepost, `{"tags":[["-"]]}`), policy.Accept},
		{"a quote in a note", repost(nostr.KindNote, string(secret.AppendJSON(nil))), policy.Accept},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, by := range []policy.Bearer{policy.Stranger, policy.Author} {
				if got := decideBy(t, rules(t), by, carrying(), tc.e); got.Outcome != tc.want {
					t.Errorf("by %v: got %v %q", by, got.Outcome, got.Reason)
				}
			}
		})
	}
}

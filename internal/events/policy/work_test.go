package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// mined adds a nonce tag with that target until the id has those bits, no more and no less.
func mined(t *testing.T, e *nostr.Event, bits int, target string) *nostr.Event {
	t.Helper()
	plain := e.Tags
	for n := range 1 << 16 {
		e.Tags = append(slices.Clone(plain), tag("nonce", itoa(int64(n)), target))
		if e.ID = e.ComputeID(); e.ID.Difficulty() == bits {
			return e
		}
	}
	t.Fatal("no luck")
	return nil
}

// What would be taken or kept waiting must show its work; an author's word about what is here already counts without.
func TestWork(t *testing.T) {
	hard := rules(t)
	hard.MinPoW = 8
	in := tag("a", repo("alice"))
	bob := func(kind nostr.Kind, tags ...nostr.Tag) *nostr.Event { return event("bob", kind, tags...) }
	for _, tc := range []struct {
		name   string
		e      *nostr.Event
		want   policy.Outcome
		prefix string
	}{
		{"enough", mined(t, bob(1, in), 8, "8"), policy.Accept, ""},
		{"more than enough", mined(t, bob(1, in), 9, "9"), policy.Accept, ""},
		{"one bit short", mined(t, bob(1, in), 7, "7"), policy.Refuse, "pow: this relay wants 8 bits of proof of work (NIP-13) and this event shows 7;"},
		{"luck without a nonce", mined(t, bob(1, in), 8, ""), policy.Accept, ""},
		{"luck beyond a low target", mined(t, bob(1, in), 9, "7"), policy.Refuse, "pow: this relay wants 8 bits of proof of work (NIP-13) and this event shows 7;"},
		{"a high target that was missed", mined(t, bob(1, in), 8, "20"), policy.Accept, ""},
		{"a target and no work", mined(t, bob(1, in), 1, "8"), policy.Refuse, "pow: "},
		{"announcement", mined(t, bob(nip34.KindRepository, tag("d", "x"), tag("relays", ours)), 2, "2"), policy.Refuse, "pow: "},
		{"announcement with work", mined(t, bob(nip34.KindRepository, tag("d", "x"), tag("relays", ours)), 8, "8"), policy.Accept, ""},
		{"not here (yet), without work", mined(t, bob(1, tag("a", repo("carol"))), 0, "0"), policy.Refuse, "pow: "},
		{"not here (yet), with work", mined(t, bob(1, tag("a", repo("carol"))), 8, "8"), policy.Unrelated, "blocked: "},
		{"ephemeral", mined(t, bob(20001, in), 0, "0"), policy.Discard, "blocked: this relay takes no ephemeral"},
		{"protected", mined(t, bob(1, in, tag("-")), 0, "0"), policy.Refuse, "auth-required: "},
		{"alice's announcement leaves", mined(t, event("alice", nip34.KindRepository, tag("d", "d"), tag("relays", "wss://elsewhere.example")), 0, "0"),
			policy.Withdraw, "blocked: "},
		{"alice's deletion", mined(t, event("alice", nostr.KindDeletion, tag("a", repo("alice"))), 0, "0"), policy.Accept, ""},
		{"bob's deletion, of whom nothing is here", mined(t, bob(nostr.KindDeletion, in), 0, "0"), policy.Unrelated, "pow: "},
		{"bob's deletion with work", mined(t, bob(nostr.KindDeletion, in), 8, "8"), policy.Accept, ""},
		{"alice's comment", mined(t, event("alice", nostr.KindComment, in), 0, "0"), policy.Refuse, "pow: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := decideBy(t, hard, policy.Stranger, carrying(), tc.e)
			if got.Outcome != tc.want || !strings.HasPrefix(got.Reason, tc.prefix) {
				t.Errorf("got %v %q", got.Outcome, got.Reason)
			}
			if easy := decide(t, carrying(), tc.e); strings.HasPrefix(easy.Reason, "pow: ") {
				t.Errorf("without a difficulty: %v %q", easy.Outcome, easy.Reason)
			}
		})
	}
}

// Where it cannot be seen whether the author has something here, nothing is decided.
func TestWorkWithoutAView(t *testing.T) {
	hard := rules(t)
	hard.MinPoW = 64
	e := event("alice", nostr.KindDeletion, tag("a", repo("alice")))
	counting := &failing{View: carrying()}
	if got := decideBy(t, hard, policy.Stranger, counting, e); got.Outcome != policy.Accept {
		t.Fatalf("got %v", got)
	}
	for last := 1; last <= counting.calls; last++ {
		got, err := hard.Decide(e, policy.Stranger, &failing{View: carrying(), last: last, said: true}, now)
		if !errors.Is(err, errDisk) || got != (policy.Verdict{}) {
			t.Errorf("call %d: %v, %v", last, got, err)
		}
	}
}

package nip34_test

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

// TestTheCorpusReads: what tests, benchmarks and the demo draw from is as git clients write it.
func TestTheCorpusReads(t *testing.T) {
	parse := map[nostr.Kind]func(*nostr.Event) error{
		nip34.KindPatch:             func(e *nostr.Event) error { _, err := nip34.ParsePatch(e); return err },
		nip34.KindPullRequest:       func(e *nostr.Event) error { _, err := nip34.ParsePullRequest(e); return err },
		nip34.KindPullRequestUpdate: func(e *nostr.Event) error { _, err := nip34.ParseUpdate(e); return err },
		nip34.KindIssue:             func(e *nostr.Event) error { _, err := nip34.ParseIssue(e); return err },
		nostr.KindComment:           func(e *nostr.Event) error { _, err := nip34.ParseComment(e); return err },
		nip34.KindStatusApplied:     func(e *nostr.Event) error { _, err := nip34.ParseStatus(e); return err },
	}
	o := corpus.Options{
		Seed: 1, Repositories: 80, Roots: 600, Others: 2000, Noise: 200, Older: true, Since: 1_700_000_000, Until: 1_760_000_000,
		Relays: []string{"wss://one.example.org", "wss://two.example.org"}, Service: "wss://git.example.org",
		Sign: func(_ nostr.SecretKey, pk nostr.PubKey, e *nostr.Event) { e.PubKey, e.ID = pk, e.ComputeID() },
	}
	seen := map[nostr.Kind]bool{}
	for it := range corpus.Stream(o) {
		if p := parse[it.Event.Kind]; p != nil {
			seen[it.Event.Kind] = true
			if err := p(it.Event); err != nil {
				t.Errorf("%d: %v", it.What, err)
			}
		}
	}
	if len(seen) != len(parse) {
		t.Errorf("only the kinds %v", seen)
	}
}

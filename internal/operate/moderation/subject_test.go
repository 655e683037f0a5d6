package moderation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestParseSubject: what String has written, and whatever else names one thing. Hex digits alone could be an author or an event.
func TestParseSubject(t *testing.T) {
	alice, id := nostr.PubKey{1, 31: 1}, nostr.ID{2, 31: 2}
	npub, note := nip19.Npub(alice), nip19.Note(id)
	tool := moderation.At(nip34.Address{Kind: nip34.KindRepository, PubKey: alice, D: "tool"})
	for text, want := range map[string]moderation.Subject{
		npub: moderation.Of(alice), "author " + npub: moderation.Of(alice), "author " + alice.String(): moderation.Of(alice), "repositories of " + npub: {Sort: moderation.Owner, PubKey: alice},
		note: moderation.One(id), "nostr:" + note: moderation.One(id), "event " + id.String(): moderation.One(id), "event " + note: moderation.One(id),
		npub + "/tool": tool, "https://git.example/" + npub + "/tool.git": tool, "repository " + npub + "/tool": tool, tool.String(): tool, tool.Address().String(): tool,
		"https://git.example/" + npub + "/tool.git/issues/" + note: moderation.One(id),
	} {
		if got, err := moderation.ParseSubject(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	state := nip34.Address{Kind: nip34.KindState, PubKey: alice, D: "tool"}.String()
	for _, text := range []string{"", id.String(), "bob", "event bob", "event " + npub, "author " + note, "repository " + npub, state, "repository " + state, "nothing " + npub} {
		if got, err := moderation.ParseSubject(text); err == nil || got != (moderation.Subject{}) || !strings.HasPrefix(err.Error(), "want a") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := moderation.ParseSubject("nsec1qq"); !errors.Is(err, grasp.ErrSecret) {
		t.Error(err)
	}
}

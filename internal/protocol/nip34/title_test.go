package nip34_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestTitle: what people call an event stands in one short line, whatever its author wrote.
func TestTitle(t *testing.T) {
	for _, x := range []struct {
		kind    nostr.Kind
		content string
		tags    nostr.Tags
		want    string
	}{
		{nip34.KindRepository, "", nostr.Tags{{"d", "tool"}, {"name", "A tool"}}, "A tool"},
		{nip34.KindRepository, "", nostr.Tags{{"d", "tool"}, {"name", " "}}, "tool"},
		{nip34.KindRepository, "", nostr.Tags{{"d", "tool"}, {"description", "for all"}}, "tool"},
		{nip34.KindState, "", nostr.Tags{{"d", "tool"}, {"name", "x"}}, "tool"},
		{nip34.KindIssue, "text", nostr.Tags{{"subject", "It breaks"}}, "It breaks"},
		{nip34.KindIssue, "\n text\nmore", nil, "text…"},
		{nip34.KindPullRequest, "text", nostr.Tags{{"subject", "One\ntwo"}}, "One…"},
		{nip34.KindPatch, "From x\nSubject: [PATCH] Mend it\n", nil, "[PATCH] Mend it"},
		{nostr.KindComment, "fine by me", nostr.Tags{{"subject", "x"}}, "fine by me"},
		{nostr.KindMetadata, `{"name":"ann"}`, nil, "ann"},
		{nostr.KindMetadata, `not JSON`, nil, ""},
		{nostr.KindDeletion, "", nil, ""},
		{nip34.KindIssue, strings.Repeat("é", 300), nil, strings.Repeat("é", 50) + "…"},
	} {
		if got := nip34.Title(&nostr.Event{Kind: x.kind, Content: x.content, Tags: x.tags}); got != x.want {
			t.Errorf("kind %d, %q, %v: %q, want %q", x.kind, x.content, x.tags, got, x.want)
		}
	}
}

// TestProfileName: no name of a large profile is read, and none that could be taken for a key.
func TestProfileName(t *testing.T) {
	large := strings.Repeat("x", 16<<10)
	for profile, want := range map[string]string{
		`{"name":"Ann","about":"` + large[100:] + `"}`: "Ann", `{"name":"Ann","about":"` + large + `"}`: "",
		`{"display_name":"Ann B","name":"ann"}`: "Ann B", `{"display_name":7,"name":"ann"}`: "ann", `{"display_name":" ","name":"ann"}`: "ann",
		`{"name":"npub1x"}`: "", `{"name":"ann (npub1x)\u202e"}`: "ann npub1x", `[]`: "", "": "",
	} {
		if got := nip34.ProfileName(profile); got != want {
			t.Errorf("%.60s: %q, want %q", profile, got, want)
		}
	}
}

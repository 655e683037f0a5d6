package admin_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestSearchTakesWhatPeopleCopy: whatever names an author, a repository or an event finds the repositories that it is about, and each comes
// with its name and its owner's.
func TestSearchTakesWhatPeopleCopy(t *testing.T) {
	owner := testkit.Key(1).PubKey()
	npub, note := nip19.Npub(owner), nip19.Note(nostr.ID{7})
	tool := nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: "tool"}
	other := nip34.Address{Kind: nip34.KindRepository, PubKey: testkit.Key(2).PubKey(), D: "other"}
	c := here
	c.Moderation = &desk{}
	c.Sync = fakeSync{details: map[grasp.RelayURL]status.Details{"wss://x.example": {Parts: []status.Part{{Address: tool.String()}, {Address: other.String()}}}}}
	for query, want := range map[string]int{
		"": 2, "tool": 1, npub: 1, "nostr:" + npub: 1, owner.String(): 1, owner.String()[:6]: 1, npub + "/tool": 1, npub + "/x": 0, tool.String(): 1,
		"https://git.example/" + npub + "/tool.git/issues": 1, note: 1, "https://git.example/" + npub + "/tool.git/issues/" + note: 1,
		nostr.ID{7}.String(): 1, nip19.Note(nostr.ID{8}): 0, "wss://x.example": 2, "wss://y": 0,
	} {
		var got admin.Repositories
		if err := json.Unmarshal(get(t, c, "GET", "/repositories.json?q="+url.QueryEscape(query)).Body.Bytes(), &got); err != nil || got.Matching != want {
			t.Errorf("%q: %d found, want %d, %v", query, got.Matching, want, err)
			continue
		}
		if want == 1 && (got.Repositories[0].Address != tool.String() || got.Repositories[0].Title == "" || got.Repositories[0].OwnedBy == "") {
			t.Errorf("%q: %+v", query, got.Repositories[0])
		}
	}
}

package grasp

import (
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestLinks(t *testing.T) {
	owner := nostr.PubKey{1}
	npub := nip19.Npub(owner)
	for domain, hint := range map[string]string{
		"git.example.org": "git.example.org", "git.example.org:8443/base": "git.example.org%3A8443%2Fbase", "127.0.0.1:7334": "ws%3A%2F%2F127.0.0.1%3A7334",
	} {
		s, err := ParseService(domain)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.NostrURL(owner, "a b/ü"); got != "nostr://"+npub+"/"+hint+"/a%20b%2F%C3%BC" {
			t.Errorf("%s: %s", domain, got)
		}
		if got := s.ClientURL(owner, "x"); got != "https://gitworkshop.dev/"+npub+"/"+hint+"/x" {
			t.Errorf("%s: %s", domain, got)
		}
	}
}

func TestWebPages(t *testing.T) {
	long := "https://example.org/" + strings.Repeat("x", maxWebURL)
	a := &nip34.Announcement{Web: []string{"javascript:alert(1)", "https://a.example/x", "//b.example", long, "http://c.example", "https:///d", "%", "https://e.example"}}
	if got := WebPages(a, 2); !slices.Equal(got, []string{"https://a.example/x", "http://c.example"}) {
		t.Errorf("%q", got)
	}
	if got := WebPages(a, 9); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

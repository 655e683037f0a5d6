package members_test

import (
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/members"
	"github.com/graspd/graspd/internal/test/testkit"
)

// Who names a relay: a member among others, somebody who is none, or nobody.
var (
	byMember   = []nostr.PubKey{testkit.Key(2).PubKey(), testkit.Key(1).PubKey()}
	byStranger = []nostr.PubKey{testkit.Key(2).PubKey()}
	byNobody   []nostr.PubKey
)

// TestPeers: a server is trusted where it says with a member's key that it is private, over an encrypted connection to where a member's
// repository leads, or at a URL that the operator has typed, and for as long as it says so and the key is a member's; so are the
// repositories at the same port, and nothing else.
func TestPeers(t *testing.T) {
	const typed = grasp.RelayURL("ws://10.0.0.1:7334")
	circle := members.New(keys(1))
	p := members.NewPeers(circle, func(u grasp.RelayURL) bool { return u == typed })
	of := func(n int, grasps ...string) nip11.Document {
		return nip11.Document{Self: testkit.Key(n).PubKey().String(), SupportedGRASPs: grasps}
	}
	private := of(1, "GRASP-01", "GRASP-08")
	for _, tt := range []struct {
		name string
		url  grasp.RelayURL
		says nip11.Document
		by   []nostr.PubKey
		want bool
	}{
		{"a member's", "wss://git.example.org", private, byMember, true},
		{"a member's on a port", "wss://git.example.org:8443", private, byMember, true},
		{"one that is typed", typed, private, byMember, true},
		{"one that is typed and nobody names", typed, private, byNobody, true},
		{"a member's that a stranger names", "wss://git.example.org", private, byStranger, false},
		{"a member's that nobody names", "wss://git.example.org", private, byNobody, false},
		{"not encrypted", "ws://git.example.org", private, byMember, false},
		{"a public one", "wss://git.example.org", of(1, "GRASP-01"), byMember, false},
		{"a stranger's", "wss://git.example.org", of(2, "GRASP-08"), byMember, false},
		{"a stranger's that is typed", typed, of(2, "GRASP-08"), byMember, false},
		{"without a key", "wss://git.example.org", nip11.Document{SupportedGRASPs: []string{"GRASP-08"}}, byMember, false},
		{"that says nothing", "wss://git.example.org", nip11.Document{}, byMember, false},
		{"with a key that is none", "wss://git.example.org", nip11.Document{Self: "x", SupportedGRASPs: []string{"GRASP-08"}}, byMember, false},
		{"the operator's key alone", "wss://git.example.org", nip11.Document{PubKey: private.Self, SupportedGRASPs: []string{"GRASP-08"}}, byMember, false},
	} {
		p.Met(tt.url, private, byMember) // what it said before does not count
		p.Met(tt.url, tt.says, tt.by)
		if got := p.Trusts(tt.url); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		p.Met(tt.url, nip11.Document{}, byMember)
		if p.Trusts(tt.url) {
			t.Errorf("%s: it takes nothing back", tt.name)
		}
	}

	p.Met("wss://git.example.org", private, byMember)
	p.Met(typed, private, byMember)
	for raw, want := range map[string]bool{
		"https://git.example.org/npub1/x.git": true, "https://git.example.org:443/npub1/x.git": true, "https://GIT.example.org/x.git": true, "http://10.0.0.1:7334/x.git": true,
		"http://git.example.org/x.git": false, "https://git.example.org:8443/x.git": false, "https://git.example.com/x.git": false, "https://x.git.example.org/x.git": false,
		"https://10.0.0.1:7334/x.git": false, "http://10.0.0.1/x.git": false, "git://git.example.org/x.git": false, "https://a@git.example.org/x.git": false, "": false, "::": false,
		"https://git.example.org@evil.example/x.git": false,
	} {
		if got := p.TrustsServer(raw); got != want {
			t.Errorf("%q: %v", raw, got)
		}
	}
	circle.Set(keys(2))
	if p.Trusts("wss://git.example.org") || p.TrustsServer("http://10.0.0.1:7334/x.git") {
		t.Error("trusted though its key is no member's any more")
	}
}

// TestPeersAreBounded: of those beyond a thousand none is trusted; strangers take nobody's room.
func TestPeersAreBounded(t *testing.T) {
	p := members.NewPeers(members.New(keys(1)), func(grasp.RelayURL) bool { return false })
	d := nip11.Document{Self: testkit.Key(1).PubKey().String(), SupportedGRASPs: []string{"GRASP-08"}}
	at := func(n int) grasp.RelayURL { return grasp.RelayURL(fmt.Sprintf("wss://a%d.example.org", n)) }
	for n := range 1000 {
		p.Met(grasp.RelayURL(fmt.Sprintf("wss://b%d.example.org", n)), nip11.Document{Self: testkit.Key(2).PubKey().String(), SupportedGRASPs: d.SupportedGRASPs}, byMember)
	}
	for n := range 1001 {
		p.Met(at(n), d, byMember)
	}
	if !p.Trusts(at(999)) || p.Trusts(at(1000)) {
		t.Error("not the first thousand")
	}
	p.Met(at(5), nip11.Document{}, byMember)
	p.Met(at(1000), d, byMember)
	if p.Trusts(at(5)) || !p.Trusts(at(1000)) {
		t.Error("there is no room again")
	}
}

package grasp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestContributions(t *testing.T) {
	service, err := grasp.ParseService("git.example.org/base")
	if err != nil {
		t.Fatal(err)
	}
	signer, other := nostr.PubKey{1}, nostr.PubKey{2}
	me := nip19.Npub(signer)
	at := func(d string) nip34.Address { return grasp.Contributed(signer, d) }
	for _, tt := range []struct {
		name, clone string
		ds          []string
		want        []nip34.Address
	}{
		{"plain", "https://git.example.org/base/prs/" + me + "/tool.git", []string{"tool"}, []nip34.Address{at("tool")}},
		{"spelled otherwise", " HTTPS://Git.Example.ORG:443/base/prs/" + me + "/tool.git/ ", []string{"tool"}, []nip34.Address{at("tool")}},
		{"escaped", "https://git.example.org/base/prs/" + me + "/a%2Fprs%2Fnpub1.git", []string{"a/prs/npub1"}, []nip34.Address{at("a/prs/npub1")}},
		{"another identifier", "https://git.example.org/base/prs/" + me + "/tools.git", []string{"tool"}, nil},
		{"one of several", "https://git.example.org/base/prs/" + me + "/b.git", []string{"a", "b"}, []nip34.Address{at("b")}},
		{"of nothing", "https://git.example.org/base/prs/" + me + "/tool.git", nil, nil},
		{"another signer", "https://git.example.org/base/prs/" + nip19.Npub(other) + "/tool.git", []string{"tool"}, nil},
		{"the repository itself", "https://git.example.org/base/" + me + "/tool.git", []string{"tool"}, nil},
		{"another base", "https://git.example.org/prs/" + me + "/tool.git", []string{"tool"}, nil},
		{"another host", "https://evil-git.example.org/base/prs/" + me + "/tool.git", []string{"tool"}, nil},
		{"another scheme", "wss://git.example.org/base/prs/" + me + "/tool.git", []string{"tool"}, nil},
		{"more of a path", "https://git.example.org/base/prs/" + me + "/tool.git/info", []string{"tool"}, nil},
		{"a query", "https://git.example.org/base?x/prs/" + me + "/tool.git", []string{"tool"}, nil},
	} {
		e := &nostr.Event{PubKey: signer, Kind: nip34.KindPullRequest, Tags: nostr.Tags{{"clone", "https://x.example/y.git", tt.clone, tt.clone}}}
		for _, d := range tt.ds {
			e.Tags = append(e.Tags, nostr.Tag{"a", nip34.Address{Kind: nip34.KindRepository, PubKey: other, D: d}.String()})
		}
		if got := service.Contributions(e); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	issue := &nostr.Event{PubKey: signer, Kind: nip34.KindIssue, Tags: nostr.Tags{{"a", "30617:" + other.String() + ":tool"}, {"clone", "https://git.example.org/base/prs/" + me + "/tool.git"}}}
	if got := service.Contributions(issue); got != nil {
		t.Errorf("an issue: %v", got)
	}
	many := &nostr.Event{PubKey: signer, Kind: nip34.KindPullRequest}
	for _, d := range strings.Split("abcdefghijklmnop", "") {
		many.Tags = append(many.Tags, nostr.Tag{"a", "30617:" + other.String() + ":" + d}, nostr.Tag{"clone", "https://git.example.org/base/prs/" + me + "/" + d + ".git"})
	}
	if got := service.Contributions(many); len(got) != 8 {
		t.Errorf("%d at a time", len(got))
	}
}

func TestHostedAddressesAreReadAsTheyAreWritten(t *testing.T) {
	for _, a := range []nip34.Address{
		{Kind: nip34.KindRepository, PubKey: nostr.PubKey{7}, D: "a:b"}, {Kind: nip34.KindRepository, PubKey: nostr.PubKey{7}},
		grasp.Contributed(nostr.PubKey{7}, "a:b"), grasp.Contributed(nostr.PubKey{7}, "1618:x"),
	} {
		if got, err := grasp.ParseHosted(a.String()); err != nil || got != a {
			t.Errorf("%v: %v %v", a, got, err)
		}
	}
	for _, s := range []string{"", "1618:", "1618:30617:x", "30618:" + nostr.PubKey{7}.String() + ":x", "01618:" + nostr.PubKey{7}.String() + ":x"} {
		if got, err := grasp.ParseHosted(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

package grasp_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestSource(t *testing.T) {
	for raw, want := range map[string]grasp.Source{
		"https://Git.Example.org/a.git":      "https://git.example.org/a.git",
		" https://git.example.org:443/a/ ":   "https://git.example.org/a",
		"http://git.example.org:80/a%20b":    "http://git.example.org/a%20b",
		"HTTPS://git.example.org:8443/x#top": "https://git.example.org:8443/x",
		"https://[2001:DB8::1]/a":            "https://[2001:db8::1]/a",
	} {
		got, err := grasp.ParseSource(raw)
		if err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", raw, got, err, want)
		}
	}
	for _, raw := range []string{"", "git@example.org:a.git", "ssh://example.org/a", "git.example.org/a", "wss://example.org/a",
		"https://user:secret@example.org/a", "https://example.org/a?service=x", "https://example.org", "https://example.org/",
		"https://exa mple.org/a", "https://127.1/a", "https://x.onion/a", "https://example.org:0/a"} {
		if got, err := grasp.ParseSource(raw); !errors.Is(err, grasp.ErrSource) {
			t.Errorf("%q is %q, %v", raw, got, err)
		}
	}
	s := grasp.Source("https://[2001:db8::1]:8443/a")
	if h, server := s.Host(), s.Server(); h != "2001:db8::1" || server != "[2001:db8::1]:8443" {
		t.Error(h, server)
	}
}

func TestNothingIsFetchedFromOneself(t *testing.T) {
	s, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"https://relay.example.org/npub1x/a.git", "http://RELAY.example.org/anything", "https://relay.example.org:443/a",
		"http://relay.example.org:80/a/b/c"} {
		u, err := grasp.ParseSource(raw)
		if err != nil || !s.Has(u) {
			t.Errorf("%q is not ours: %v", raw, err)
		}
	}
	below, err := grasp.ParseService("example.org/git")
	if err != nil {
		t.Fatal(err)
	}
	for raw, ours := range map[string]bool{
		"https://example.org/git/a.git": true, "https://example.org/%67it/a": true, "https://example.org//x/../git/a": true,
		"https://example.org/gitea/a": false, "https://example.org/a": false,
	} {
		if u, err := grasp.ParseSource(raw); err != nil || below.Has(u) != ours {
			t.Errorf("%q: %v, %v", raw, !ours, err)
		}
	}
	a := &nip34.Announcement{Relays: []string{"wss://relay.example.org", "wss://pair.example.org"}}
	got := s.Sources(a, []string{"https://forge.example.org/a", "https://relay.example.org/a.git", "ssh://x/a", "https://pair.example.org/a.git",
		"https://FORGE.example.org/a/"}, 10)
	if want := []grasp.Source{"https://pair.example.org/a.git", "https://forge.example.org/a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.Sources(nil, []string{"https://a.example.org/a", "https://b.example.org/b"}, 1); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// Where a relay's host has repositories, as a GRASP server.
func TestSourceOfARelay(t *testing.T) {
	pk := nostr.PubKey{1}
	npub := nip19.Npub(pk)
	for relay, want := range map[grasp.RelayURL]string{
		"wss://old.example.org":          "https://old.example.org/" + npub + "/a%20b.git",
		"ws://10.0.0.1:3000/base":        "http://10.0.0.1:3000/base/" + npub + "/a%20b.git",
		"wss://old.example.org:8443":     "https://old.example.org:8443/" + npub + "/a%20b.git",
		"wss://old.example.org/?token=1": "",
	} {
		s, ok := relay.Source(pk, "a b")
		if string(s) != want || ok != (want != "") {
			t.Errorf("%s: %q %v", relay, s, ok)
		}
		if parsed, err := grasp.ParseSource(string(s)); ok && (err != nil || parsed != s) {
			t.Errorf("%s is %s to others, %v", s, parsed, err)
		}
	}
}

// What an operator names implies one URL for each repository: its own.
func TestImplied(t *testing.T) {
	pk := nostr.PubKey{1}
	npub := nip19.Npub(pk)
	relays := []grasp.RelayURL{"ws://10.0.0.1:3000", "wss://old.example.org/base", "wss://old.example.org/?token=1"}
	at := func(kind nostr.Kind, d string) []grasp.Source {
		return grasp.Implied(relays, nip34.Address{Kind: kind, PubKey: pk, D: d})
	}
	for d, path := range map[string]string{"tool": "tool", "a b": "a%20b", "a/b": "a%2Fb", "a.b..c": "a.b..c", ".": ".", "a?b#c": "a%3Fb%23c", "ü": "%C3%BC"} {
		if got, want := at(nip34.KindRepository, d), []grasp.Source{
			grasp.Source("http://10.0.0.1:3000/" + npub + "/" + path + ".git"), grasp.Source("https://old.example.org/base/" + npub + "/" + path + ".git"),
		}; !slices.Equal(got, want) {
			t.Errorf("%q: %q", d, got)
		}
	}
	for _, d := range []string{
		"", "/", "..", "../admin", "../../admin", "a/../../admin", `..\admin`, `a\..\..\admin`, "..;/admin", "a/..;x/../admin", "%2e%2e%2fadmin", "%252e%252e%252fadmin", "a/%2e%2e/b", "100%",
	} {
		if got := at(nip34.KindRepository, d); got != nil {
			t.Errorf("%q leads to %q", d, got)
		}
	}
	if got := grasp.Implied(relays, grasp.Contributed(pk, "tool")); got != nil {
		t.Errorf("a contributed repository is at %q", got)
	}
}

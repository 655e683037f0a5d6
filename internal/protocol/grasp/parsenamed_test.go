package grasp_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	namedOwner  = "a695f6b60119d9521934a691347d9f78e8770b56da16bb255ee286ddf9fda919"
	namedNaddr  = "naddr1qqzkjurnw4ksz9thwden5te0wfjkccte9ehx7um5wghx7un8qgs2d90kkcq3nk2jry62dyf50k0h36rhpdtd594my40w9pkal876jxgrqsqqqa28pccpzu"
	otherKind   = "an event of kind 30023"
	anotherNote = "note1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnzs23v9ccrydpk8qarc0sk2l5wu"
)

// TestParseNamed: whatever people copy names the same thing, in each place that asks for it, and where it is another thing the error says so.
func TestParseNamed(t *testing.T) {
	owner, err := nostr.ParsePubKey(namedOwner)
	if err != nil {
		t.Fatal(err)
	}
	id := nostr.ID{7, 31: 1}
	npub, note := nip19.Npub(owner), nip19.Note(id)
	repo := nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: "my tool/x"}
	tool := nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: "tool"}
	event, author := grasp.Named{Event: id}, grasp.Named{Author: owner}
	at := func(a nip34.Address) grasp.Named { return grasp.Named{Address: a} }
	for text, want := range map[string]grasp.Named{
		note: event, "nostr:" + note: event, "NOSTR:" + strings.ToUpper(note): event,
		npub: author, "nostr:" + npub: author, namedOwner: {Author: owner, Event: nostr.ID(owner)},
		"30617:" + namedOwner + ":my tool/x": at(repo), npub + "/my tool/x": at(repo), namedOwner + "/tool": at(tool), "nostr:" + npub + "/tool": at(tool),
		npub + "/tool.git": at(nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: "tool.git"}),
		npub + "/nsec1-a":  at(nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: "nsec1-a"}),
		npub + "/a://b":    at(nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: "a://b"}),

		// Pages of this relay, at the root and below a path.
		"https://git.example/" + npub: author, "https://git.example/" + npub + "/": author, "https://git.example/" + note: event,
		"https://git.example/" + npub + "/tool.git": at(tool), "http://127.0.0.1:7334/git/" + npub + "/my%20tool%2Fx.git/": at(repo),
		"https://git.example/" + npub + "/tool.git/issues": at(tool), "https://git.example/" + npub + "/tool.git/issues?page=2": at(tool),
		"https://git.example/" + npub + "/tool.git/issues/" + note:                    event,
		"https://git.example/" + npub + "/tool.git/pulls/" + anotherNote + "#" + note: event,
		"https://git.example/" + npub + "/tool.git/tree/issues/" + note:               at(tool), // a file
		"https://git.example/" + npub + "/tool.git/tree/" + note:                      at(tool), // a branch
		"https://git.example/" + npub + "/tool":                                       at(tool),
		// Web clients and ngit.
		"https://njump.me/" + note: event, "https://gitworkshop.dev/" + npub + "/git.example/tool": at(tool),
		"https://gitworkshop.dev/" + npub + "/ws%3A%2F%2Flocalhost/tool/issues/" + note: event,
		"https://gitworkshop.dev/" + npub + "/tool/prs/" + note:                         event,
		"nostr://" + npub + "/tool":                                                     at(tool), "nostr://" + npub + "/git.example/tool": at(tool), "nostr://" + npub + "/127.0.0.1%3A7334/my%20tool%2Fx": at(repo),
	} {
		got, err := grasp.ParseNamed(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		pk, err := grasp.ParseAuthor(text)
		if (err == nil) != (want.Author != nostr.PubKey{}) || pk != want.Author {
			t.Errorf("author %s: %v, %v", text, pk, err)
		}
		e, err := grasp.ParseEvent(text)
		if (err == nil) != (want.Event != nostr.ID{}) || e != want.Event {
			t.Errorf("event %s: %v, %v", text, e, err)
		}
		a, err := grasp.ParseRepository(text)
		if (err == nil) != (want.Address != nip34.Address{}) || a != want.Address {
			t.Errorf("repository %s: %v, %v", text, a, err)
		}
	}
	for _, text := range []string{namedNaddr, "nostr:" + namedNaddr, "https://njump.me/" + namedNaddr} {
		if got, err := grasp.ParseNamed(text); err != nil || got.Address.PubKey != owner || got.Address.D != "ipsum" {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		for name, err := range map[string]error{"repository": second(grasp.ParseRepository(text)), "event": second(grasp.ParseEvent(text))} {
			if err == nil || !strings.Contains(err.Error(), otherKind) {
				t.Errorf("%s as %s: %v", text, name, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestWhatNamesNothing: the error helps, and a secret key is never taken for anything.
func TestWhatNamesNothing(t *testing.T) {
	owner := nostr.PubKey{1, 31: 2}
	npub := nip19.Npub(owner)
	mistyped := npub[:20] + "zz" + npub[22:]
	for text, want := range map[string]string{
		"": "no event", "bob": "no event", "nostr:": "no event", mistyped: "mistyped", mistyped + "/tool": "mistyped", "https://git.example/" + mistyped + "/tool.git": "mistyped",
		"https://git.example/": "no event", "https://git.example/about": "no event", "https://git.example/prs/" + npub + "/tool.git": "pushes pull requests",
		"https://git.example/" + npub + "/.git": "no event", "https://git.example/" + npub + "/%zz.git": "no event", "wss://git.example/" + npub: "no event",
		strings.Repeat("A", 64): "no event", "nostr://me@example.org/tool": "no event", " " + npub: "no event",
	} {
		for name, err := range map[string]error{"author": second(grasp.ParseAuthor(text)), "event": second(grasp.ParseEvent(text)), "repository": second(grasp.ParseRepository(text))} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "want a") {
				t.Errorf("%s %q: %v", name, text, err)
			}
		}
	}
	const nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
	for _, text := range []string{nsec, strings.ToUpper(nsec), "nostr:" + nsec, nsec + "/tool", "https://git.example/" + nsec, "nostr://" + nsec + "/tool", "ncryptsec1qq", nsec[:20]} {
		for _, err := range []error{second(grasp.ParseAuthor(text)), second(grasp.ParseEvent(text)), second(grasp.ParseRepository(text)), second(grasp.ParseNamed(text))} {
			if !errors.Is(err, grasp.ErrSecret) || strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if _, err := grasp.ParseRepository("https://git.example/" + npub + "/" + strings.Repeat("x", nip34.MaxIdentifier+1) + ".git"); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Error(err)
	}
	if _, err := grasp.ParseRepository(hex.EncodeToString(owner[:])); err == nil || !strings.Contains(err.Error(), "names an author") {
		t.Error(err)
	}
}

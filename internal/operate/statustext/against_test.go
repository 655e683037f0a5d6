package statustext

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// TestADifferenceIsNamed: a repository by what can be pasted, also on a narrow terminal, and an event by its kind, what it is called and who wrote it.
func TestADifferenceIsNamed(t *testing.T) {
	const address = "30617:aa4fc8665f5696e33db7e1a572e3b0f5b3d615837b0f362dcb1c8068b098c7b4:to\x1bol"
	npub := npubOf(t, address)
	r := against.Report{Here: "wss://here.example", There: "wss://there.example", Repositories: []against.Repository{{Address: address, Name: "to\x1bol", Here: true, There: true, OnlyThere: []against.Only{
		{What: strings.Repeat("ab", 32), Kind: nip34.KindIssue, By: npub, Title: "it\x1b breaks", Why: "it has not come here", Missing: true},
		{What: strings.Repeat("cd", 32), Kind: 54321, By: npub, Why: "it has not come here"},
		{What: "refs/heads/main", Object: "12", Why: "no state"},
	}}}}
	var b strings.Builder
	if err := WriteAgainst(&b, r, 100); err != nil {
		t.Fatal(err)
	}
	short := "by npub1" + npub[5:6] + "…" + npub[len(npub)-5:]
	for _, want := range []string{
		"\n" + npub + `/to\x1bol:` + "\n", "  only there: event " + strings.Repeat("ab", 32) + ` (issue it\x1b breaks, ` + short + "): MISSING: it has not come here\n",
		"  only there: event " + strings.Repeat("cd", 32) + " (kind 54321, " + short + "): it has", "  only there: refs/heads/main: no state\n", "\n" + `to\x1bol  npub…` + npub[len(npub)-3:] + " ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := WriteAgainst(&b, r, 0); err != nil || strings.Count(b.String(), npub) < 2 {
		t.Errorf("%v: whoever reads it whole is not told the owner:\n%s", err, b.String())
	}
	state := strings.Replace(address[:70], "30617", "30618", 1) + ":tool"
	if got := named(state); got != state {
		t.Errorf("what is no address of a repository: %s", got)
	}
}

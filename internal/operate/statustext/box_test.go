package statustext

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/status"
)

// TestABoxWrapsBetweenWords: what follows is indented, and a word that does not fit stays whole.
func TestABoxWrapsBetweenWords(t *testing.T) {
	for width, want := range map[int]string{
		0: `┌───────────────────────────────┐
│ one for ärger                 │
│   and a much-longer-word here │
└───────────────────────────────┘
`,
		24: `┌──────────────────────┐
│ one for ärger        │
│   and a              │
│     much-longer-word │
│     here             │
└──────────────────────┘
`,
		1: `┌──────────────────────┐
│ one for ärger        │
│   and a              │
│     much-longer-word │
│     here             │
└──────────────────────┘
`,
	} {
		var b strings.Builder
		if Box(&b, []string{"one for ärger", "  and a much-longer-word here"}, width); b.String() != want {
			t.Errorf("%d:\n%s", width, b.String())
		}
	}
}

// TestTheBoxOfNothingFitsTheTerminal: at any width that has room for the longest word no line is longer, and no word is lost.
func TestTheBoxOfNothingFitsTheTerminal(t *testing.T) {
	s := admin.Status{Nothing: &status.Nothing{Relay: "wss://relay.example.org", Web: "https://relay.example.org", Announcements: 3, From: 1,
		Names: []status.NameSeen{{Name: "relay.example.net", Announcements: 3}, {Name: strings.Repeat("a", 30) + "\x1b[2J", Announcements: 1}}}}
	words := func(text string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(text, "│", "")), " ")
	}
	told := func(width int) (string, string) {
		var b strings.Builder
		if err := Write(&b, s, time.Now(), width); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(b.String(), "┐\n")
		text, _, ok := strings.Cut(text, "└")
		if !ok {
			t.Fatalf("no box: %s", b.String())
		}
		return b.String(), words(text)
	}
	_, all := told(0)
	for width := 70; width < 200; width++ {
		whole, inside := told(width)
		if inside != all {
			t.Errorf("%d: %q, want %q", width, inside, all)
		}
		for line := range strings.Lines(whole) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d: a line has %d: %s", width, n, line)
			}
		}
	}
}

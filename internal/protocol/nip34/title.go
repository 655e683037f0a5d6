package nip34

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the names that people give, in bytes.
const (
	mostTitle   = 100      // of a Title
	mostCalled  = 40       // of a ProfileName
	mostProfile = 16 << 10 // of a profile in which a name is sought
)

// Title returns what people call an event, as one short line: the name in a profile or an announcement, the identifier of a state, a
// subject, or else how the text begins. It is whatever the author wrote; "" where there is nothing.
func Title(e *nostr.Event) string {
	named, _ := tags(e).First("name")
	if e.Kind == KindState || e.Kind == KindRepository && strings.TrimSpace(named) == "" {
		named = e.Tags.D()
	}
	switch e.Kind {
	case nostr.KindMetadata:
		return ProfileName(e.Content)
	case KindRepository, KindState:
		return safetext.Line(named, mostTitle)
	}
	if subject := safetext.Line(SearchText(e), mostTitle); subject != "" {
		return subject
	}
	return safetext.Line(e.Content, mostTitle)
}

// ProfileName returns the name in a profile, as one short line of visible characters; "" where there is none. Nobody can write another key
// beside their own in it.
func ProfileName(profile string) string {
	var said struct {
		Name    any `json:"name"`
		Display any `json:"display_name"`
	}
	if len(profile) > mostProfile || json.Unmarshal([]byte(profile), &said) != nil {
		return ""
	}
	for _, x := range []any{said.Display, said.Name} {
		s, _ := x.(string)
		s = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) || r == '(' || r == ')' {
				return ' '
			}
			return r
		}, s)
		if s = safetext.Line(strings.Join(strings.Fields(s), " "), mostCalled); s != "" && !strings.HasPrefix(s, "npub1") {
			return s
		}
	}
	return ""
}

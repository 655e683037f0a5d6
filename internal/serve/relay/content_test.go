package relay

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestTheContentThatIsTold is the content that is taken, to the character, also beside the tags that an issue has.
func TestTheContentThatIsTold(t *testing.T) {
	l := Limits{}.withDefaults()
	most := l.contentLength()
	e := &nostr.Event{Kind: 1621, CreatedAt: 1_700_000_000, Tags: nostr.Tags{{"a", strings.Repeat("a", 200)}, {"subject", strings.Repeat("s", 500)}}}
	for content, taken := range map[string]bool{
		strings.Repeat("x", most): true, strings.Repeat("x", most+1): false, strings.Repeat("\u00e4", most/2): true,
	} {
		e.Content = content
		if got := l.refuseEvent(e); (got == "") != taken {
			t.Errorf("%d bytes: %q", len(content), got)
		}
	}
}

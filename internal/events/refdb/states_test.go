package refdb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// However few refs the states of strangers have, what is remembered of them is bounded by the bytes of their events.
func TestRememberedStatesAreBounded(t *testing.T) {
	for name, content := range map[string]string{"short": "", "long": strings.Repeat("x", 100_000)} {
		var c states
		var last nostr.ID
		for i := range 60_000 / (1 + len(content)/1000) {
			e := &nostr.Event{Kind: nip34.KindState, CreatedAt: int64(i), Content: content, Tags: nostr.Tags{
				{"d", "tool"}, {"refs/heads/main", fmt.Sprintf("%040x", i+1)},
			}}
			last = nostr.ID{byte(i), byte(i >> 8), byte(i >> 16)}
			s, err := c.read(last, func() (*nostr.Event, error) { return e, nil })
			if err != nil || s.state == nil || len(s.state.Refs) != 1 {
				t.Fatal(s, err)
			}
		}
		if most := statesKept / (len(content) + 100); c.by.Len() == 0 || c.by.Len() > most {
			t.Errorf("%s: %d states are remembered, and %d fill the room", name, c.by.Len(), most)
		}
		_, err := c.read(last, func() (*nostr.Event, error) { t.Errorf("%s: the last one is read again", name); return nil, nil })
		if err != nil {
			t.Error(err)
		}
	}
}

package nostr_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestEventKind: the kind is what the whole message would be read with, or it is not shown yet.
func TestEventKind(t *testing.T) {
	for text, want := range map[string]nostr.Kind{
		`["EVENT",{"kind":30618,"tags":[["x"`: 30618, ` [ "EVENT" , { "id" : "x" , "kind" : 30618 , `: 30618, `["EVENT","sub",{"content":"\"kind\":7","kind":30618}`: 30618,
		`["EVENT",{"kind":1,"kind":30618,`: 1, `["EVENT",{"tags":[["kind","30618"]],"x":{"kind":30618},"kind":0,`: 0, `["EVENT",{"kind":30618}]`: 30618,
	} {
		if got, shown := nostr.EventKind([]byte(text)); got != want || !shown {
			t.Errorf("%s: %d, %v", text, got, shown)
		}
	}
	for _, text := range []string{
		``, `[`, `["EVENT"`, `["EVENT",{`, `["EVENT",{"kind":3061`, `["EVENT",{"kind":30618`, `["EVENT",{"kind":"30618",`, `["EVENT",{"kind":-1,`, `["EVENT",{"kind":70000,`,
		`["EVENT",{"tags":[["kind",`, `["REQ",{"kind":30618,`, `["EVENT","sub`, `["EVENT",["kind",30618,`, `{"kind":30618,`,
	} {
		if got, shown := nostr.EventKind([]byte(text)); shown {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// TestKindOf: the kind of an event as it is stored is read without the rest, wherever it stands.
func TestKindOf(t *testing.T) {
	for text, want := range map[string]nostr.Kind{
		`{"kind":30618,"tags":[["x"`: 30618, ` { "id" : "x" , "kind" : 1619 , `: 1619, `{"content":"\"kind\":7","kind":1618}`: 1618, `{"tags":[["kind","7"]],"kind":0,`: 0,
	} {
		if got, shown := nostr.KindOf([]byte(text)); got != want || !shown {
			t.Errorf("%s: %d, %v", text, got, shown)
		}
	}
	for _, text := range []string{``, `{`, `{}`, `{"kind":3061`, `{"kind":70000,`, `{"tags":[["kind",`, `["EVENT",{"kind":30618,`, `{"id":"x"}`} {
		if got, shown := nostr.KindOf([]byte(text)); shown {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// TestStringsOfMessages: what tags may have is bounded in messages, and not in what is stored.
func TestStringsOfMessages(t *testing.T) {
	event := func(tags string) string {
		return `{"id":"` + strings.Repeat("0", 64) + `","pubkey":"` + strings.Repeat("0", 64) + `","created_at":1,"kind":1,"tags":[` + tags +
			`],"content":"","sig":"` + strings.Repeat("0", 128) + `"}`
	}
	some := func(tag string, n int) string { return strings.TrimSuffix(strings.Repeat(tag+",", n), ",") }
	for _, tt := range []struct {
		tags string
		ok   bool
	}{
		{some(`["x"]`, nostr.MaxStrings), true}, {some(`["x"]`, nostr.MaxStrings+1), false}, {some(`[]`, nostr.MaxStrings+1), false},
		{`[` + some(`""`, nostr.MaxStrings) + `]`, true}, {some(`["",""]`, nostr.MaxStrings/2+1), false},
	} {
		e := event(tt.tags)
		if _, err := nostr.ParseClient([]byte(`["EVENT",` + e + `]`)); (err == nil) != tt.ok {
			t.Errorf("%.40s: of a client: %v", tt.tags, err)
		}
		if _, err := nostr.ParseRelay([]byte(`["EVENT","s",` + e + `]`)); (err == nil) != tt.ok {
			t.Errorf("%.40s: of a relay: %v", tt.tags, err)
		}
		if _, err := nostr.ParseEvent([]byte(e)); err != nil {
			t.Errorf("%.40s: stored: %v", tt.tags, err)
		}
	}
}

package nostr_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestAddress(t *testing.T) {
	pk := nostr.PubKey{31: 7}
	long := strings.Repeat("d", 2000)
	tests := []struct {
		name string
		kind nostr.Kind
		tags nostr.Tags
		want string
	}{
		{"regular", 1621, nostr.Tags{{"d", "x"}}, ""},
		{"ephemeral", 22242, nostr.Tags{{"d", "x"}}, ""},
		{"replaceable", 10002, nil, "10002:" + pk.String() + ":"},
		{"replaceable ignores d", 0, nostr.Tags{{"d", "x"}}, "0:" + pk.String() + ":"},
		{"addressable", 30617, nostr.Tags{{"d", "repo"}}, "30617:" + pk.String() + ":repo"},
		{"first d", 30617, nostr.Tags{{"d", "a"}, {"d", "b"}}, "30617:" + pk.String() + ":a"},
		{"no d", 39999, nil, "39999:" + pk.String() + ":"},
		{"d with colons, slashes and emoji", 30618, nostr.Tags{{"d", "a:b/c d😀"}}, "30618:" + pk.String() + ":a:b/c d😀"},
		{"long d", 30617, nostr.Tags{{"d", long}}, "30617:" + pk.String() + ":" + long},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := nostr.Event{PubKey: pk, Kind: tt.kind, Tags: tt.tags}
			if got := e.Address(); got != tt.want {
				t.Errorf("Address = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpiration(t *testing.T) {
	tests := []struct {
		name string
		tags nostr.Tags
		at   int64
		ok   bool
	}{
		{"none", nostr.Tags{{"e", "1"}}, 0, false},
		{"seconds", nostr.Tags{{"expiration", "1700000000"}}, 1700000000, true},
		{"words", nostr.Tags{{"expiration", "tomorrow"}}, 0, false},
		{"fraction", nostr.Tags{{"expiration", "17.5"}}, 0, false},
		{"exponent", nostr.Tags{{"expiration", "1e9"}}, 0, false},
		{"empty", nostr.Tags{{"expiration", ""}}, 0, false},
		{"no value", nostr.Tags{{"expiration"}}, 0, false},
		{"beyond int64", nostr.Tags{{"expiration", "99999999999999999999"}}, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at, ok := (&nostr.Event{Tags: tt.tags}).Expiration()
			if ok != tt.ok || ok && at != tt.at {
				t.Errorf("Expiration = %d, %v, want %d, %v", at, ok, tt.at, tt.ok)
			}
		})
	}
	request := &nostr.Event{Kind: nostr.KindVanish, Tags: nostr.Tags{{"expiration", "1700000000"}}}
	if at, ok := request.Expiration(); ok {
		t.Errorf("a request to vanish expires at %d", at)
	}
}

func TestProtected(t *testing.T) {
	for _, tt := range []struct {
		name string
		tags nostr.Tags
		want bool
	}{
		{"none", nil, false},
		{"bare", nostr.Tags{{"e", "-"}, {"-"}}, true},
		{"as a value", nostr.Tags{{"d", "-"}}, false},
		{"empty tag", nostr.Tags{{}}, false},
	} {
		if got := (&nostr.Event{Tags: tt.tags}).Protected(); got != tt.want {
			t.Errorf("%s: Protected = %v", tt.name, got)
		}
	}
}

func TestNewer(t *testing.T) {
	old := &nostr.Event{CreatedAt: 5, ID: nostr.ID{0}}
	late := &nostr.Event{CreatedAt: 6, ID: nostr.ID{9}}
	lateLow := &nostr.Event{CreatedAt: 6, ID: nostr.ID{8, 0xff}}
	for _, tt := range []struct {
		name string
		a, b *nostr.Event
		want bool
	}{
		{"later", late, old, true},
		{"earlier", old, late, false},
		{"same second, lower id", lateLow, late, true},
		{"same second, higher id", late, lateLow, false},
		{"itself", late, late, false},
	} {
		if got := tt.a.Stamp().Newer(tt.b.Stamp()); got != tt.want {
			t.Errorf("%s: Newer = %v", tt.name, got)
		}
	}
}

func TestCloneFollowsItsFields(t *testing.T) {
	e := parsed(t, eventText(nil))
	c := e.Clone()
	c.Content = "changed"
	c.Tags[0][1] = "changed"
	if text := string(c.AppendJSON(nil)); strings.Count(text, "changed") != 2 {
		t.Errorf("the clone is written as %s", text)
	}
	if e.Content != "hello" || e.Tags[0][1] != "x" {
		t.Error("the original was changed")
	}
}

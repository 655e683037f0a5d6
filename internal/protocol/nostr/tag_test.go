package nostr_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

func TestTags(t *testing.T) {
	tags := nostr.Tags{{}, {"a"}, {"relays", "r1", "r2"}, {"d", "one"}, {"e", "x", "hint"}, {"d", "two"}, {"E", "y"}}
	if tags[0].Name() != "" || tags[0].Value() != "" || tags[1].Name() != "a" || tags[1].Value() != "" || tags[2].Value() != "r1" {
		t.Error("Name and Value are not those of elements 0 and 1")
	}
	first := []struct {
		name, value string
		ok          bool
	}{{"e", "x", true}, {"E", "y", true}, {"a", "", true}, {"p", "", false}, {"", "", false}, {"d", "one", true}}
	for _, tt := range first {
		if v, ok := tags.First(tt.name); v != tt.value || ok != tt.ok {
			t.Errorf("First(%q) = %q, %v, want %q, %v", tt.name, v, ok, tt.value, tt.ok)
		}
	}
	var values []string
	for tag := range tags.All("d") {
		values = append(values, tag.Value())
	}
	if !slices.Equal(values, []string{"one", "two"}) {
		t.Errorf("All(d) = %q", values)
	}
	for tag := range tags.All("") {
		t.Errorf("All of no name gave %q", tag)
	}
	for range tags.All("d") {
		break // an early end must be possible
	}
	if tags.D() != "one" {
		t.Errorf("D = %q, want the first", tags.D())
	}
	if d := (nostr.Tags{{"d"}, {"d", "late"}}).D(); d != "" {
		t.Errorf("D = %q, want that of the first d tag, which is empty", d)
	}
	if d := (nostr.Tags)(nil).D(); d != "" {
		t.Errorf("D of no tags = %q", d)
	}
}

func TestTagsOfANameEndWithTheirReader(t *testing.T) {
	tags := nostr.Tags{{"a", "1"}, {"b"}, {"a", "2"}, {}, {"a"}}
	itertest.Seq(t, func(context.Context) iter.Seq[nostr.Tag] { return tags.All("a") })
}

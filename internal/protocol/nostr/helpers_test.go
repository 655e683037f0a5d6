package nostr_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

var testKey = nostr.SecretKey{31: 3}

// signed is e signed by testKey.
func signed(t testing.TB, e nostr.Event) *nostr.Event {
	t.Helper()
	if err := testKey.Sign(&e, [32]byte{}); err != nil {
		t.Fatal(err)
	}
	return &e
}

// parsed is the event that text holds.
func parsed(t testing.TB, text string) *nostr.Event {
	t.Helper()
	e, err := nostr.ParseEvent([]byte(text))
	if err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return e
}

// eventText is an event object with the given fields replaced ("kind": "7") or, where the value is "", left out. Its id
// and signature are made up.
func eventText(change map[string]string) string {
	fields := []struct{ key, value string }{
		{"id", `"` + strings.Repeat("ab", 32) + `"`},
		{"pubkey", `"` + strings.Repeat("cd", 32) + `"`},
		{"created_at", "1700000000"},
		{"kind", "1"},
		{"tags", `[["t","x"]]`},
		{"content", `"hello"`},
		{"sig", `"` + strings.Repeat("ef", 64) + `"`},
	}
	var parts []string
	for _, f := range fields {
		if v, ok := change[f.key]; ok {
			f.value = v
		}
		if f.value != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", f.key, f.value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// randomText is a short string of the characters that encoders get wrong.
func randomText(r *rand.Rand) string {
	alphabet := []string{"a", "Z", "0", " ", `"`, `\`, "/", "\n", "\r", "\t", "\b", "\f", "\x00", "\x01", "\x1f", "\x7f",
		"<", ">", "&", "\u00e9", "\u2028", "\u2029", "\ufffd", "\uffff", "😀", "\U0010ffff", `\u0041`, `"]`, `","`, "plain text"}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// randomEvent is an event with every field at random, its id being right and its signature not.
func randomEvent(r *rand.Rand) *nostr.Event {
	e := &nostr.Event{CreatedAt: r.Int64N(1 << r.IntN(63)), Kind: nostr.Kind(r.IntN(1 << 16)), Content: randomText(r), Tags: nostr.Tags{}}
	fill(r, e.PubKey[:])
	fill(r, e.Sig[:])
	for range r.IntN(5) {
		tag := nostr.Tag{}
		for range r.IntN(1 << r.IntN(6)) {
			tag = append(tag, randomText(r))
		}
		e.Tags = append(e.Tags, tag)
	}
	e.ID = e.ComputeID()
	return e
}

func fill(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// randomFilter is a filter with any keys, present or absent, lists empty or not.
func randomFilter(r *rand.Rand) nostr.Filter {
	var f nostr.Filter
	if r.IntN(2) == 0 {
		f.IDs = make([]nostr.ID, r.IntN(3))
		for i := range f.IDs {
			fill(r, f.IDs[i][:])
		}
	}
	if r.IntN(2) == 0 {
		f.Authors = make([]nostr.PubKey, r.IntN(3))
		for i := range f.Authors {
			fill(r, f.Authors[i][:])
		}
	}
	if r.IntN(2) == 0 {
		f.Kinds = make([]nostr.Kind, r.IntN(3))
		for i := range f.Kinds {
			f.Kinds[i] = nostr.Kind(r.IntN(1 << 16))
		}
	}
	for _, name := range []byte("adpE") {
		if r.IntN(3) > 0 {
			continue
		}
		tag := nostr.TagFilter{Name: name, Values: make([]string, r.IntN(3))}
		for i := range tag.Values {
			if tag.Values[i] = randomText(r); name == 'p' {
				var id nostr.ID
				fill(r, id[:])
				tag.Values[i] = id.String()
			}
		}
		f.Tags = append(f.Tags, tag)
	}
	if r.IntN(2) == 0 {
		f.Since = new(r.Int64N(1 << r.IntN(63)))
	}
	if r.IntN(2) == 0 {
		f.Until = new(r.Int64N(1 << r.IntN(63)))
	}
	if r.IntN(2) == 0 {
		f.Limit = new(r.IntN(1000))
	}
	f.Search = randomText(r)
	return f
}

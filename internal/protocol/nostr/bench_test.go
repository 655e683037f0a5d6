package nostr_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// benchEvent is a patch of ordinary size: a dozen tags and four kilobytes of text with escapes.
func benchEvent(b *testing.B) *nostr.Event {
	b.Helper()
	e := &nostr.Event{CreatedAt: 1700000000, Kind: 1617, Content: strings.Repeat("+\tif err := run(ctx, \"x\"); err != nil {\n", 100)}
	for range 12 {
		e.Tags = append(e.Tags, nostr.Tag{"p", strings.Repeat("ab", 32), "wss://relay.example.org"})
	}
	if err := (nostr.SecretKey{31: 3}).Sign(e, [32]byte{}); err != nil {
		b.Fatal(err)
	}
	parsed, err := nostr.ParseEvent(e.AppendJSON(nil))
	if err != nil {
		b.Fatal(err)
	}
	return parsed
}

func BenchmarkParseEvent(b *testing.B) {
	text := benchEvent(b).AppendJSON(nil)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := nostr.ParseEvent(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComputeID(b *testing.B) {
	e := benchEvent(b)
	b.SetBytes(int64(e.Size()))
	b.ReportAllocs()
	for b.Loop() {
		e.ComputeID()
	}
}

func BenchmarkVerify(b *testing.B) {
	e := benchEvent(b)
	b.ReportAllocs()
	for b.Loop() {
		if !(nostr.Schnorr{}).Verify(e.PubKey, e.ID, e.Sig) {
			b.Fatal("not genuine")
		}
	}
}

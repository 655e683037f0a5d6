package nostr_test

import (
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestIDVectors(t *testing.T) {
	pk, err := nostr.ParsePubKey("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
	if err != nil {
		t.Fatal(err)
	}
	one := nostr.PubKey{31: 1}
	tests := []struct {
		name, id  string
		event     nostr.Event
		canonical string
	}{
		{"empty note", "1d60156c7d5c3d752ed401ba085300ea90869712b4acc88edff9601de4c0b15c",
			nostr.Event{PubKey: pk, Kind: 1}, `[0,"` + pk.String() + `",0,1,[],""]`},
		{"issue", "5be5bd5bec152f5ecedc1cd9bb39d43b57b7c6036c7d4d710410815adbe9d240",
			nostr.Event{PubKey: one, CreatedAt: 1700000000, Kind: 1621,
				Tags:    nostr.Tags{{"a", "30617:" + one.String() + ":my:repo"}, {"subject", `q"uote`}},
				Content: "line1\nline2\t<>&\u2028é😀\\"},
			`[0,"` + one.String() + `",1700000000,1621,[["a","30617:` + one.String() + `:my:repo"],["subject","q\"uote"]],` +
				`"line1\nline2\t<>&` + "\u2028é😀" + `\\"]`},
		{"empty tags", "",
			nostr.Event{Kind: 65535, CreatedAt: 1<<63 - 1, Tags: nostr.Tags{{}, {""}, {"a", "", "b"}}},
			`[0,"` + strings.Repeat("0", 64) + `",9223372036854775807,65535,[[],[""],["a","","b"]],""]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.event.AppendCanonical([]byte("kept"))); got != "kept"+tt.canonical {
				t.Errorf("canonical\n got %s\nwant %s", got, tt.canonical)
			}
			id := tt.event.ComputeID()
			if id != sha256.Sum256([]byte(tt.canonical)) || tt.id != "" && id.String() != tt.id {
				t.Errorf("id = %s, want %s", id, tt.id)
			}
		})
	}
}

// TestEscapes goes through all bytes that could be escaped: NIP-01 names seven, the other control bytes are written as
// every implementation does, and nothing else is touched. The position in the string varies because bytes are looked at
// eight at a time.
func TestEscapes(t *testing.T) {
	special := map[byte]string{'\n': `\n`, '"': `\"`, '\\': `\\`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`,
		0: `\u0000`, 1: `\u0001`, 7: `\u0007`, 0x0b: `\u000b`, 0x0e: `\u000e`, 0x1a: `\u001a`, 0x1f: `\u001f`}
	content := func(s string) string {
		text := string((&nostr.Event{Content: s}).AppendCanonical(nil))
		return text[strings.LastIndex(text, ",[],")+len(",[],") : len(text)-1]
	}
	for b := range byte(0x80) {
		want, ok := special[b]
		if !ok && b < ' ' {
			continue // like its neighbours
		}
		if !ok {
			want = string(rune(b))
		}
		for before := range 20 {
			pad := strings.Repeat("é", before/2) + strings.Repeat("x", before%2)
			if got := content(pad + string(rune(b)) + pad); got != `"`+pad+want+pad+`"` {
				t.Fatalf("byte %#x after %d bytes is written %s, want %s", b, len(pad), got, want)
			}
		}
	}
	for _, s := range []string{"\x7f", "<>&", "\u2028\u2029", "é😀", "\ufffd", "/"} {
		if got := content(s); got != `"`+s+`"` {
			t.Errorf("%q is written %s", s, got)
		}
	}
}

func TestEventsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		e := randomEvent(r)
		text := e.AppendJSON(nil)
		if !json.Valid(text) || len(text) != e.Size() {
			t.Fatalf("not JSON, or %d bytes where %d were promised: %s", len(text), e.Size(), text)
		}
		back := parsed(t, string(text))
		if !reflect.DeepEqual(back.Clone(), e.Clone()) {
			t.Fatalf("\n got %+v\nwant %+v", back, e)
		}
		if string(back.AppendJSON(nil)) != string(text) || back.Size() != len(text) {
			t.Fatalf("written differently the second time: %s", text)
		}
		if err := back.CheckID(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
}

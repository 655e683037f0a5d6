package nostr_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestDifficulty(t *testing.T) {
	for id, want := range map[string]int{
		"000006d8c378af1779d2feebc7603a125d99eca0ccf1085959b307f64e5dd358": 21, // the NIP's own example
		"6bf5b4f434813c64b523d2b0e6efe18f3bd0cbbd0a5effd8ece9e00fd2531996": 1,
		"00003479309ecdb46b1c04ce129d2709378518588bed6776e60474ebde3159ae": 18,
		strings.Repeat("0", 64):        256,
		strings.Repeat("0", 63) + "1":  255,
		strings.Repeat("f", 64):        0,
		"01" + strings.Repeat("0", 62): 7,
	} {
		parsed, err := nostr.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.Difficulty(); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}

func TestWork(t *testing.T) {
	nonce := func(values ...string) nostr.Tag { return append(nostr.Tag{"nonce"}, values...) }
	for _, tt := range []struct {
		name string
		tags nostr.Tags
		want int
	}{
		{"no nonce", nil, 21},
		{"the target that was met", nostr.Tags{nonce("776797", "21")}, 21},
		{"more than the target", nostr.Tags{nonce("776797", "20")}, 20},
		{"less than the target", nostr.Tags{nonce("776797", "30")}, 21},
		{"a target of nothing", nostr.Tags{nonce("776797", "0")}, 0},
		{"no target", nostr.Tags{nonce("776797")}, 21},
		{"no values", nostr.Tags{nonce()}, 21},
		{"a target that is no number", nostr.Tags{nonce("1", "many")}, 21},
		{"a negative target", nostr.Tags{nonce("1", "-5")}, 21},
		{"a huge target", nostr.Tags{nonce("1", "99999999999999999999")}, 21},
		{"the first nonce counts", nostr.Tags{{"x"}, nonce("1", "3"), nonce("1", "21")}, 3},
	} {
		e := &nostr.Event{Tags: tt.tags}
		e.ID[2] = 0x06
		if got := e.Work(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

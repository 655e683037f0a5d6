package nip19_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// encode writes bech32, group by group and bit by bit.
func encode(prefix string, data []byte) string {
	var bits []byte
	for _, b := range data {
		for i := range 8 {
			bits = append(bits, b>>(7-i)&1)
		}
	}
	for len(bits)%5 != 0 {
		bits = append(bits, 0)
	}
	var groups []byte
	for i := 0; i < len(bits); i += 5 {
		groups = append(groups, bits[i]<<4|bits[i+1]<<3|bits[i+2]<<2|bits[i+3]<<1|bits[i+4])
	}
	return write(prefix, groups)
}

// write adds the checksum to groups of five bits.
func write(prefix string, groups []byte) string {
	sum := nip19.Checksum(prefix, append(append([]byte{}, groups...), 0, 0, 0, 0, 0, 0)) ^ 1
	out := prefix + "1"
	for i := range 6 {
		groups = append(groups, byte(sum>>(5*(5-i))&31))
	}
	for _, g := range groups {
		out += string(charset[g])
	}
	return out
}

// The vectors of NIP-19 and of nostr libraries.
func TestVectors(t *testing.T) {
	for npub, hex := range map[string]string{
		"npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
		"npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6": "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d",
	} {
		for _, s := range []string{npub, strings.ToUpper(npub)} {
			if got, err := nip19.ParsePubKey(s); err != nil || got.String() != hex {
				t.Errorf("%s: %v, %v", s, got, err)
			}
		}
	}
	const naddr = "naddr1qqzkjurnw4ksz9thwden5te0wfjkccte9ehx7um5wghx7un8qgs2d90kkcq3nk2jry62dyf50k0h36rhpdtd594my40w9pkal876jxgrqsqqqa28pccpzu"
	want := nip19.Address{Kind: 30023, D: "ipsum"}
	want.PubKey, _ = nostr.ParsePubKey("a695f6b60119d9521934a691347d9f78e8770b56da16bb255ee286ddf9fda919")
	if got, err := nip19.ParseAddress(naddr); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// The vectors of BIP-173.
func TestBech32(t *testing.T) {
	for _, s := range []string{
		"A12UEL5L", "a12uel5l", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", "?1ezyfcl",
		"an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
		"split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
	} {
		prefix, data, err := nip19.Decode(s)
		if err != nil || encode(prefix, data) != strings.ToLower(s) {
			t.Errorf("%s: %q %x, %v", s, prefix, data, err)
		}
	}
	for _, s := range []string{
		"", "1", "\x201nwldj5", "\x7f1axkwrx", "\u00801eym55h", "pzry9x0s0muk", "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3", "de1lg7wt\xff",
		"A1G7SGD8", "10a06t8", "1qzzfhee", "A12uEL5L", "a1qqqqqq2uel5l", "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3x",
		write("a", []byte{0}), // five bits are no byte, and no rest of one
	} {
		if prefix, data, err := nip19.Decode(s); err == nil {
			t.Errorf("%q: %q %x", s, prefix, data)
		}
	}
}

func field(kind byte, value string) string { return string([]byte{kind, byte(len(value))}) + value }

func TestWhatIsRefused(t *testing.T) {
	key := "0123456789abcdefghijklmnopqrstuv"
	d, author, kind := field(0, "proj"), field(2, key), field(3, "\x00\x00\x77\x99")
	npub := encode("npub", []byte(key))
	for name, s := range map[string]string{
		"empty":                   "",
		"hex":                     strings.Repeat("ab", 32),
		"another prefix":          encode("nsec", []byte(key)),
		"naddr for npub":          encode("naddr", []byte(d+author+kind)),
		"a byte short":            encode("npub", []byte(key[1:])),
		"a byte long":             encode("npub", []byte(key+"k")),
		"a character changed":     npub[:20] + string(charset[(strings.IndexByte(charset, npub[20])+1)%32]) + npub[21:],
		"a character less":        npub[:20] + npub[21:],
		"two characters swapped":  npub[:5] + npub[6:7] + npub[5:6] + npub[7:],
		"cut":                     npub[:len(npub)-1],
		"mixed case":              npub[:20] + strings.ToUpper(npub[20:]),
		"a letter that folds":     strings.Replace(strings.ToUpper(npub), "K", "\u212a", 1),
		"white space":             " " + npub,
		"bits that mean nothing":  write("npub", append(make([]byte, 51), 1)),
		"a group that is no byte": write("npub", make([]byte, 53)),
	} {
		if got, err := nip19.ParsePubKey(s); !errors.Is(err, nip19.ErrNpub) || got != (nostr.PubKey{}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, s := range map[string]string{
		"no identifier":        author + kind,
		"no author":            d + kind,
		"no kind":              d + author,
		"two identifiers":      d + d + author + kind,
		"two authors":          d + author + author + kind,
		"two kinds":            d + author + kind + kind,
		"a short author":       d + field(2, key[1:]) + kind,
		"a long author":        d + field(2, key+"k") + kind,
		"a short kind":         d + author + field(3, "\x77\x99"),
		"a kind beyond":        d + author + field(3, "\x00\x01\x00\x00"),
		"no UTF-8":             field(0, "\xff") + author + kind,
		"a field cut short":    d + author + kind + "\x01\x05wss:",
		"a field without size": d + author + kind + "\x01",
		"nothing":              "",
	} {
		if got, err := nip19.ParseAddress(encode("naddr", []byte(s))); !errors.Is(err, nip19.ErrNaddr) || got != (nip19.Address{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := nip19.ParseAddress(encode("nevent", []byte(d+author+kind))); !errors.Is(err, nip19.ErrNaddr) {
		t.Errorf("another prefix: %+v, %v", got, err)
	}
	for name, s := range map[string]string{
		"any order":           kind + author + d,
		"relays and unknowns": field(1, "wss://x.example") + d + field(1, "") + author + field(9, "?") + kind + field(200, "?"),
	} {
		if got, err := nip19.ParseAddress(encode("naddr", []byte(s))); err != nil || got != (nip19.Address{Kind: 30617, PubKey: nostr.PubKey([]byte(key)), D: "proj"}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := nip19.ParseAddress(encode("naddr", []byte(field(0, "")+author+kind))); err != nil || got.D != "" {
		t.Errorf("empty identifier: %+v, %v", got, err)
	}
	if _, err := nip19.ParseAddress(encode("naddr", []byte(strings.Repeat(field(9, strings.Repeat("x", 255)), 13)+d+author+kind))); !errors.Is(err, nip19.ErrNaddr) {
		t.Errorf("longer than 5,000 characters: %v", err)
	}
}

// What is read is what was written: no other text stands for the same key.
func FuzzParse(f *testing.F) {
	f.Add("npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg")
	f.Add("naddr1qqzkjurnw4ksz9thwden5te0wfjkccte9ehx7um5wghx7un8qgs2d90kkcq3nk2jry62dyf50k0h36rhpdtd594my40w9pkal876jxgrqsqqqa28pccpzu")
	f.Add("A12UEL5L")
	f.Add("nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5")
	f.Fuzz(func(t *testing.T, s string) {
		prefix, data, err := nip19.Decode(s)
		if err == nil && encode(prefix, data) != strings.ToLower(s) {
			t.Errorf("%q: %q %x", s, prefix, data)
		}
		if pk, perr := nip19.ParsePubKey(s); perr == nil && (err != nil || encode("npub", pk[:]) != strings.ToLower(s)) {
			t.Errorf("%q: %v", s, pk)
		}
		if a, aerr := nip19.ParseAddress(s); aerr == nil && (err != nil || prefix != "naddr" || !strings.Contains(string(data), string(a.PubKey[:]))) {
			t.Errorf("%q: %+v", s, a)
		}
		// Whatever the bytes, what is parsed of them when they stand in an naddr does not break.
		if a, aerr := nip19.ParseAddress(encode("naddr", []byte(s))); aerr == nil && !strings.Contains(s, a.D) {
			t.Errorf("%q: %+v", s, a)
		}
	})
}

func TestNpub(t *testing.T) {
	pk, err := nip19.ParsePubKey("npub15qydau2hjma6ngxkl2cyar74wzyjshvl65za5k5rl69264ar2exs5cyejr") // the example of NIP-34
	if err != nil {
		t.Fatal(err)
	}
	if got := nip19.Npub(pk); got != "npub15qydau2hjma6ngxkl2cyar74wzyjshvl65za5k5rl69264ar2exs5cyejr" {
		t.Errorf("%s", got)
	}
	for i := range byte(200) {
		pk := nostr.PubKey{i, 255 - i, 31: i * 7}
		s := nip19.Npub(pk)
		if back, err := nip19.ParsePubKey(s); err != nil || back != pk || s != encode("npub", pk[:]) {
			t.Errorf("%s: %v, %v", s, back, err)
		}
	}
}

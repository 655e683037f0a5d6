package nostr_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// oracleEvent reads an event with encoding/json, made as strict as NIP-01 is by hand.
func oracleEvent(text []byte) (*nostr.Event, bool) {
	if !json.Valid(text) || !utf8.Valid(text) {
		return nil, false
	}
	seen := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	known := []string{"id", "pubkey", "created_at", "kind", "tags", "content", "sig"}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		if _, twice := seen[key.(string)]; twice && strings.Contains(" "+strings.Join(known, " ")+" ", " "+key.(string)+" ") {
			return nil, false
		}
		seen[key.(string)] = value
	}
	e := &nostr.Event{}
	ok := oracleHex(seen["id"], e.ID[:]) && oracleHex(seen["pubkey"], e.PubKey[:]) && oracleHex(seen["sig"], e.Sig[:]) &&
		oracleInt(seen["created_at"]) && json.Unmarshal(seen["created_at"], &e.CreatedAt) == nil &&
		oracleInt(seen["kind"]) && json.Unmarshal(seen["kind"], &e.Kind) == nil
	var tags [][]*string
	var content *string
	if !ok || json.Unmarshal(seen["tags"], &tags) != nil || tags == nil || json.Unmarshal(seen["content"], &content) != nil || content == nil {
		return nil, false
	}
	e.Content, e.Tags = *content, nostr.Tags{}
	for _, list := range tags {
		if list == nil {
			return nil, false
		}
		tag := nostr.Tag{}
		for _, s := range list {
			if s == nil {
				return nil, false
			}
			tag = append(tag, *s)
		}
		e.Tags = append(e.Tags, tag)
	}
	return e, true
}

func oracleHex(value json.RawMessage, dst []byte) bool {
	var s *string
	if json.Unmarshal(value, &s) != nil || s == nil || len(*s) != 2*len(dst) || strings.Trim(*s, "0123456789abcdef") != "" {
		return false
	}
	for i := range dst {
		dst[i] = byte(strings.IndexByte("0123456789abcdef", (*s)[2*i])<<4 | strings.IndexByte("0123456789abcdef", (*s)[2*i+1]))
	}
	return true
}

func oracleInt(value json.RawMessage) bool {
	return len(value) > 0 && bytes.Trim(value, "0123456789") == nil
}

// surrogates finds what encoding/json replaces where this package refuses: escapes of surrogates, paired or not.
var surrogates = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// compareEvent holds what ParseEvent says against the oracle.
func compareEvent(t *testing.T, text []byte) {
	t.Helper()
	got, err := nostr.ParseEvent(text)
	want, ok := oracleEvent(text)
	switch {
	case err == nil && !ok:
		t.Fatalf("accepted what encoding/json refuses: %q", text)
	case err == nil && !reflect.DeepEqual(got.Clone(), want):
		t.Fatalf("%q\n got %+v\nwant %+v", text, got, want)
	case err != nil && ok && !surrogates.Match(text) && !strings.Contains(err.Error(), "nested too deep"):
		t.Fatalf("refused what encoding/json accepts: %v: %q", err, text)
	}
}

// TestParseEventAgreesWithEncodingJSON goes through random events, as this package and as encoding/json write them, and
// through small damages of both.
func TestParseEventAgreesWithEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	damage := []string{`"`, `\`, ",", ":", "[", "]", "{", "}", " ", "0", "-", ".", "e", "A", "\n", "\x00", "\xff", "é", "null", `\u00e9`, `"x":[1,{}],`, ""}
	for range 3000 {
		e := randomEvent(r)
		theirs, err := json.Marshal(map[string]any{"id": e.ID.String(), "pubkey": e.PubKey.String(), "created_at": e.CreatedAt,
			"kind": e.Kind, "tags": e.Tags, "content": e.Content, "sig": e.Sig.String()})
		if err != nil {
			t.Fatal(err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, theirs, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{e.AppendJSON(nil), theirs, spaced.Bytes()} {
			if back := parsed(t, string(text)); !reflect.DeepEqual(back.Clone(), e.Clone()) {
				t.Fatalf("%s\n got %+v\nwant %+v", text, back, e)
			}
			compareEvent(t, text)
			at, cut := r.IntN(len(text)), r.IntN(3)
			end := min(at+cut, len(text))
			broken := string(text[:at]) + damage[r.IntN(len(damage))] + string(text[end:])
			compareEvent(t, []byte(broken))
		}
	}
}

package gitwire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestParseObjectID(t *testing.T) {
	const text = "0123456789abcdef0123456789abcdef01234567"
	got, err := gitwire.ParseObjectID(text)
	if err != nil || got.String() != text || string(got.AppendHex([]byte("x"))) != "x"+text || got.IsZero() {
		t.Errorf("%v, %v", got, err)
	}
	if other, err := gitwire.ParseObjectID([]byte(text)); err != nil || other != got {
		t.Errorf("as bytes: %v, %v", other, err)
	}
	zero, err := gitwire.ParseObjectID(hexOf("0"))
	if err != nil || !zero.IsZero() || zero != (gitwire.ObjectID{}) || (gitwire.ObjectID{}).String() != hexOf("0") {
		t.Errorf("the null id: %v, %v", zero, err)
	}
	last, err := gitwire.ParseObjectID(strings.Repeat("0", 39) + "1")
	if err != nil || last.IsZero() || got.Compare(last) <= 0 || last.Compare(got) >= 0 || got.Compare(got) != 0 {
		t.Errorf("%v, %v", last, err)
	}
	for bad, want := range map[string]string{
		"":                         `'' is no object id of 40 lower-case hex digits`,
		text[1:]:                   "is no object id",
		text + "0":                 "is no object id",
		strings.ToUpper(text):      "is no object id",
		"g" + text[1:]:             "is no object id",
		text[:39] + "/":            "is no object id",
		text[:39] + "`":            "is no object id",
		text[:39] + "\n":           `\n' is no object id`,
		strings.Repeat("ab", 32):   "is an object id of SHA-256; the repositories here are of SHA-1",
		strings.Repeat("xy", 32):   "is no object id",
		strings.Repeat("a", 10000): "is no object id",
	} {
		_, err := gitwire.ParseObjectID(bad)
		var refused *gitwire.RequestError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || len(err.Error()) > 250 {
			t.Errorf("%.80q: %v", bad, err)
		}
	}
}

func TestNamesObject(t *testing.T) {
	for text, want := range map[string]bool{
		strings.Repeat("0a", 20): true, strings.Repeat("0a", 32): true, strings.Repeat("0A", 20): false, strings.Repeat("0a", 31): false, "main": false, "": false,
	} {
		if gitwire.NamesObject(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestObjectIDBytes(t *testing.T) {
	id, err := gitwire.ParseObjectID("0123456789abcdef0123456789abcdef01234567")
	if err != nil {
		t.Fatal(err)
	}
	raw := id.AppendRaw([]byte("x"))
	if len(raw) != 21 || string(raw[:3]) != "x\x01\x23" || gitwire.ObjectIDOf([20]byte(raw[1:])) != id {
		t.Errorf("%x", raw)
	}
}

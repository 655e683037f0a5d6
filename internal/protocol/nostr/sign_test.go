package nostr_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestSignIsDeterministic(t *testing.T) {
	draft := nostr.Event{CreatedAt: 1700000000, Kind: 30617, Tags: nostr.Tags{{"d", "x"}}}
	var sigs []nostr.Sig
	for _, aux := range []byte{1, 1, 2} {
		e := draft
		if err := testKey.Sign(&e, [32]byte{aux}); err != nil {
			t.Fatal(err)
		}
		if err := nostr.Check(&e, nostr.Schnorr{}); err != nil {
			t.Error(err)
		}
		sigs = append(sigs, e.Sig)
	}
	if sigs[0] != sigs[1] || sigs[0] == sigs[2] {
		t.Error("the signature does not depend on aux alone")
	}
}

// TestSignAgain signs an event that was parsed before: what is sent must be the new one.
func TestSignAgain(t *testing.T) {
	e := parsed(t, eventText(nil))
	if err := testKey.Sign(e, [32]byte{}); err != nil {
		t.Fatal(err)
	}
	if err := nostr.Check(parsed(t, string(e.AppendJSON(nil))), nostr.Schnorr{}); err != nil {
		t.Error(err)
	}
}

func TestSignRefuses(t *testing.T) {
	order := nostr.SecretKey(unhex(t, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"))
	above := order
	above[31]++
	tests := []struct {
		name  string
		key   nostr.SecretKey
		event nostr.Event
		want  string
	}{
		{"zero key", nostr.SecretKey{}, nostr.Event{}, "not a secret key"},
		{"key not below the order", order, nostr.Event{}, "not a secret key"},
		{"key above the order", above, nostr.Event{}, "not a secret key"},
		{"negative time", testKey, nostr.Event{CreatedAt: -1}, "created_at"},
		{"content that is not UTF-8", testKey, nostr.Event{Content: "\xff"}, "content"},
		{"tag that is not UTF-8", testKey, nostr.Event{Tags: nostr.Tags{{"d", "\xc3"}}}, "tags"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := tt.event
			err := tt.key.Sign(&e, [32]byte{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want one about %q", err, tt.want)
			}
			if e.Sig != (nostr.Sig{}) || e.ID != (nostr.ID{}) || e.PubKey != (nostr.PubKey{}) {
				t.Error("the refused event was changed")
			}
		})
	}
	if (nostr.SecretKey{}).PubKey() != (nostr.PubKey{}) {
		t.Error("an invalid key has a public key")
	}
}

func TestGenerateKey(t *testing.T) {
	order := unhex(t, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
	good := bytes.Repeat([]byte{5}, 32)
	key, err := nostr.GenerateKey(bytes.NewReader(append(append(make([]byte, 32), order...), good...)))
	if err != nil || key != nostr.SecretKey(good) {
		t.Errorf("key = %x, %v, want the first valid one", key[:], err)
	}
	if _, err := nostr.GenerateKey(bytes.NewReader(good[:31])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("err = %v from a source that ends", err)
	}
}

func TestSecretKeysAreNotPrinted(t *testing.T) {
	key := nostr.SecretKey(bytes.Repeat([]byte{0xa5}, 32))
	text := fmt.Sprintf("%v %+v %#v %s %v", key, key, key, key, struct{ K nostr.SecretKey }{key})
	if strings.Contains(text, "a5") || strings.Contains(text, "165") {
		t.Errorf("printed as %s", text)
	}
}

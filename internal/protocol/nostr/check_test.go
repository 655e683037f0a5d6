package nostr_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// verifierFunc counts and answers.
type verifierFunc func() bool

func (f verifierFunc) Verify(nostr.PubKey, nostr.ID, nostr.Sig) bool { return f() }

func TestCheck(t *testing.T) {
	good := signed(t, nostr.Event{CreatedAt: 1700000000, Kind: 1621, Tags: nostr.Tags{{"subject", "x"}}, Content: "y"})
	change := func(f func(*nostr.Event)) *nostr.Event {
		c := good.Clone()
		f(c)
		return c
	}
	tests := []struct {
		name  string
		event *nostr.Event
		want  error
	}{
		{"genuine", good, nil},
		{"genuine after a round trip", parsed(t, string(good.AppendJSON(nil))), nil},
		{"other content", change(func(e *nostr.Event) { e.Content += " " }), nostr.ErrID},
		{"other tag", change(func(e *nostr.Event) { e.Tags[0][1] = "z" }), nostr.ErrID},
		{"other kind", change(func(e *nostr.Event) { e.Kind++ }), nostr.ErrID},
		{"other time", change(func(e *nostr.Event) { e.CreatedAt++ }), nostr.ErrID},
		{"other author", change(func(e *nostr.Event) { e.PubKey[0]++ }), nostr.ErrID},
		{"other author, id made to fit", change(func(e *nostr.Event) { e.PubKey[0]++; e.ID = e.ComputeID() }), nostr.ErrSig},
		{"other content, id made to fit", change(func(e *nostr.Event) { e.Content = ""; e.ID = e.ComputeID() }), nostr.ErrSig},
		{"other signature", change(func(e *nostr.Event) { e.Sig[63]++ }), nostr.ErrSig},
		{"no signature", change(func(e *nostr.Event) { e.Sig = nostr.Sig{} }), nostr.ErrSig},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := nostr.Check(tt.event, nostr.Schnorr{}); !errors.Is(err, tt.want) {
				t.Errorf("err = %v, want %v", err, tt.want)
			}
		})
	}
}

// An event whose id is the hash of a form with 0x7f escaped is told from a forged one, if its author signed that id.
func TestCheckOfAnotherForm(t *testing.T) {
	escaped := func(e nostr.Event) *nostr.Event {
		e.PubKey = testKey.PubKey()
		e.ID = sha256.Sum256([]byte(strings.ReplaceAll(string(e.AppendCanonical(nil)), "\x7f", `\u007f`)))
		var err error
		if e.Sig, err = nostr.SignSchnorr(testKey, e.ID[:], [32]byte{}); err != nil {
			t.Fatal(err)
		}
		return &e
	}
	for _, e := range []nostr.Event{
		{Kind: 1, Content: "\x7f"},
		{Kind: 1, Content: strings.Repeat("\x7f\u00ff\"\\", 500)},
		{Kind: 1621, Tags: nostr.Tags{{"a", "30617:x:\x7f"}, {"\x7f"}}, Content: `\u007f`},
	} {
		x := escaped(e)
		if err := nostr.Check(x, nostr.Schnorr{}); !errors.Is(err, nostr.ErrForm) || errors.Is(err, nostr.ErrID) {
			t.Errorf("%q: %v", e.Content, err)
		}
		if err := nostr.Check(parsed(t, string(x.AppendJSON(nil))), nostr.Schnorr{}); !errors.Is(err, nostr.ErrForm) {
			t.Errorf("%q after a round trip: %v", e.Content, err)
		}
		bad := *x
		bad.Sig[40]++
		if err := nostr.Check(&bad, nostr.Schnorr{}); !errors.Is(err, nostr.ErrSig) {
			t.Errorf("%q with another signature: %v", e.Content, err)
		}
		bad = *x
		bad.Content = strings.ReplaceAll(x.Content, "\x7f", `\u007f`) + "x"
		if err := nostr.Check(&bad, nostr.Schnorr{}); !errors.Is(err, nostr.ErrID) {
			t.Errorf("%q with other content: %v", e.Content, err)
		}
		if err := nostr.Check(signed(t, e), nostr.Schnorr{}); err != nil {
			t.Errorf("%q as NIP-01 has it: %v", e.Content, err)
		}
	}
}

func TestCheckAsksTheVerifierLast(t *testing.T) {
	e := signed(t, nostr.Event{Kind: 1})
	asked := 0
	yes := verifierFunc(func() bool { asked++; return true })
	e.Content = "forged"
	if err := nostr.Check(e, yes); !errors.Is(err, nostr.ErrID) || asked != 0 {
		t.Errorf("err = %v, verifier asked %d times", err, asked)
	}
	e.Content = ""
	if err := nostr.Check(e, yes); err != nil || asked != 1 {
		t.Errorf("err = %v, verifier asked %d times", err, asked)
	}
}

package nip98_test

import (
	"errors"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestStanding: each fault of a credential that is good for many requests is told, and one without a fault is good, whoever signed it.
func TestStanding(t *testing.T) {
	const repo = "https://git.example.org/npub/x.git"
	good := []nostr.Tag{{"u", repo}, {"method", "GET"}}
	signed := func(at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
		return testkit.Sign(testkit.Key(3), at, kind, "", tags...)
	}
	forged := signed(now.Unix(), nip98.Kind, good...)
	forged.PubKey = testkit.Key(1).PubKey()
	forged.ID = forged.ComputeID()
	for name, tt := range map[string]struct {
		header string
		want   error
	}{
		"good":            {header(signed(now.Unix(), nip98.Kind, good...)), nil},
		"more tags":       {header(signed(now.Unix(), nip98.Kind, nostr.Tag{"x"}, good[1], good[0])), nil},
		"a minute old":    {header(signed(now.Unix()-60, nip98.Kind, good...)), nil},
		"a minute ahead":  {header(signed(now.Unix()+60, nip98.Kind, good...)), nil},
		"old":             {header(signed(now.Unix()-61, nip98.Kind, good...)), nip98.ErrTime},
		"of the future":   {header(signed(now.Unix()+61, nip98.Kind, good...)), nip98.ErrTime},
		"none":            {"", nip98.ErrNone},
		"scheme alone":    {"Nostr", nip98.ErrNone},
		"nothing behind":  {"Nostr ", nip98.ErrEvent},
		"another scheme":  {"Basic eDp5", nip98.ErrNone},
		"no base64":       {"Nostr {}", nip98.ErrBase64},
		"no event":        {"Nostr e30=", nip98.ErrEvent},
		"another kind":    {header(signed(now.Unix(), 22242, good...)), nip98.ErrKind},
		"another method":  {header(signed(now.Unix(), nip98.Kind, good[0], nostr.Tag{"method", "POST"})), nip98.ErrOther},
		"no method":       {header(signed(now.Unix(), nip98.Kind, good[0])), nip98.ErrOther},
		"another URL":     {header(signed(now.Unix(), nip98.Kind, nostr.Tag{"u", repo + "/info/refs"}, good[1])), nip98.ErrOther},
		"for one request": {header(signed(now.Unix(), nip98.Kind, good[0], good[1], nostr.Tag{"payload", sum})), nip98.ErrOther},
		"a payload of no": {header(signed(now.Unix(), nip98.Kind, good[0], good[1], nostr.Tag{"payload"})), nip98.ErrOther},
		"forged":          {header(forged), nip98.ErrSignature},
	} {
		e, err := nip98.CheckStanding(tt.header, func(u string) bool { return u == repo }, now)
		if !errors.Is(err, tt.want) || (e == nil) != (tt.want != nil) || e != nil && e.PubKey != testkit.Key(3).PubKey() {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	h, err := nip98.SignStanding(repo, now, func(e *nostr.Event) error {
		*e = *testkit.Sign(testkit.Key(3), e.CreatedAt, e.Kind, e.Content, e.Tags...)
		return nil
	})
	if _, bad := nip98.CheckStanding(h, func(u string) bool { return u == repo }, now); err != nil || bad != nil {
		t.Errorf("what is signed here: %v, %v", err, bad)
	}
	planted := errors.New("planted")
	if _, err := nip98.SignStanding(repo, now, func(*nostr.Event) error { return planted }); err != planted {
		t.Errorf("a key that does not sign: %v", err)
	}
}

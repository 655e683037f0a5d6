package nip98_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

const url = "https://relay.example.org/base"

// now is where the tests stand, and sum the SHA-256 of "{}".
var now = time.Unix(1_800_000_000, 0)

const sum = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

func header(e *nostr.Event) string {
	return "Nostr " + base64.StdEncoding.EncodeToString(e.AppendJSON(nil))
}

// TestCheck: each fault of an authorization is told, and one without a fault is good.
func TestCheck(t *testing.T) {
	admin, stranger := testkit.Key(1), testkit.Key(2)
	tags := func(u, method, payload string) []nostr.Tag {
		return []nostr.Tag{{"u", u}, {"method", method}, {"payload", payload}}
	}
	signed := func(at int64, kind nostr.Kind, tags []nostr.Tag) string {
		return header(testkit.Sign(admin, at, kind, "", tags...))
	}
	good := tags(url, "POST", sum)
	forged := testkit.Sign(admin, now.Unix(), nip98.Kind, "", good...)
	forged.Sig[5] ^= 1
	forgedStranger := testkit.Sign(stranger, now.Unix(), nip98.Kind, "", good...)
	forgedStranger.Sig[5] ^= 1
	asked := 0
	for name, tt := range map[string]struct {
		header string
		want   error
	}{
		"good":               {signed(now.Unix(), nip98.Kind, good), nil},
		"a minute old":       {signed(now.Unix()-60, nip98.Kind, good), nil},
		"a minute ahead":     {signed(now.Unix()+60, nip98.Kind, good), nil},
		"slash at the end":   {signed(now.Unix(), nip98.Kind, tags(url+"/", "POST", sum)), nil},
		"none":               {"", nip98.ErrNone},
		"another scheme":     {"Bearer x", nip98.ErrNone},
		"no base64":          {"Nostr {}", nip98.ErrBase64},
		"no event":           {"Nostr e30=", nip98.ErrEvent},
		"another kind":       {signed(now.Unix(), 22242, good), nip98.ErrKind},
		"a stranger":         {header(testkit.Sign(stranger, now.Unix(), nip98.Kind, "", good...)), nip98.ErrKey},
		"a forged stranger":  {header(forgedStranger), nip98.ErrSignature},
		"old, of a stranger": {header(testkit.Sign(stranger, now.Unix()-61, nip98.Kind, "", good...)), nip98.ErrTime},
		"old":                {signed(now.Unix()-61, nip98.Kind, good), nip98.ErrTime},
		"of the future":      {signed(now.Unix()+61, nip98.Kind, good), nip98.ErrTime},
		"another scheme, u":  {signed(now.Unix(), nip98.Kind, tags("http://relay.example.org/base", "POST", sum)), nip98.ErrOther},
		"another host":       {signed(now.Unix(), nip98.Kind, tags("https://other.example.org/base", "POST", sum)), nip98.ErrOther},
		"another path":       {signed(now.Unix(), nip98.Kind, tags("https://relay.example.org/", "POST", sum)), nip98.ErrOther},
		"a query":            {signed(now.Unix(), nip98.Kind, tags(url+"?a", "POST", sum)), nip98.ErrOther},
		"no URL":             {signed(now.Unix(), nip98.Kind, good[1:]), nip98.ErrOther},
		"another method":     {signed(now.Unix(), nip98.Kind, tags(url, "GET", sum)), nip98.ErrOther},
		"another body":       {signed(now.Unix(), nip98.Kind, tags(url, "POST", strings.Repeat("0", 64))), nip98.ErrOther},
		"no payload":         {signed(now.Unix(), nip98.Kind, good[:2]), nip98.ErrOther},
		"forged":             {header(forged), nip98.ErrSignature},
	} {
		e, err := nip98.Check(tt.header, nip98.Request{
			Names: names, Method: "POST", Body: []byte("{}"),
			May: func(pk nostr.PubKey) bool { asked++; return pk == admin.PubKey() },
		}, now)
		if !errors.Is(err, tt.want) || (e == nil) != (tt.want != nil) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if good := tt.want == nil || tt.want == nip98.ErrKey; (asked == 1) != good {
			t.Errorf("%s: whether the key may is asked %d times", name, asked)
		}
		asked = 0
	}
}

// TestAuthorizationsOfBefore: none is good of the time from which on they are, or of before.
func TestAuthorizationsOfBefore(t *testing.T) {
	e := testkit.Sign(testkit.Key(1), now.Unix(), nip98.Kind, "", nostr.Tag{"u", url}, nostr.Tag{"method", "POST"}, nostr.Tag{"payload", sum})
	for from, want := range map[time.Time]error{{}: nil, now.Add(-time.Second): nil, now: nip98.ErrEarly, now.Add(time.Second): nip98.ErrEarly} {
		q := nip98.Request{Names: names, Method: "POST", Body: []byte("{}"), From: from, May: func(nostr.PubKey) bool { return true }}
		if _, err := nip98.Check(header(e), q, now); !errors.Is(err, want) {
			t.Errorf("from %v on: %v", from, err)
		}
	}
}

// names is what the requests of the tests may be called.
func names(u string) bool {
	return strings.TrimSuffix(u, "/") == url
}

// TestSign: what is signed here is good.
func TestSign(t *testing.T) {
	key := testkit.Key(1)
	h, err := nip98.Sign("POST", url, []byte("{}"), now, func(e *nostr.Event) error {
		*e = *testkit.Sign(key, e.CreatedAt, e.Kind, e.Content, e.Tags...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	q := nip98.Request{Names: names, Method: "POST", Body: []byte("{}"), May: func(pk nostr.PubKey) bool { return pk == key.PubKey() }}
	if _, err := nip98.Check(h, q, now); err != nil {
		t.Error(err)
	}
	planted := errors.New("planted")
	if _, err := nip98.Sign("POST", url, nil, now, func(*nostr.Event) error { return planted }); err != planted {
		t.Errorf("a key that does not sign: %v", err)
	}
}

// TestSeen: an authorization counts once for two minutes, of so many at most; then there is room again.
func TestSeen(t *testing.T) {
	var s nip98.Seen
	id := func(n int) (id nostr.ID) { id[0], id[1] = byte(n), byte(n>>8); return id }
	for i := range nip98.MaxSeen {
		if err := s.Use(id(i), now); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	for _, at := range []time.Time{now, now.Add(2 * time.Minute)} {
		if err := s.Use(id(0), at); err != nip98.ErrReplayed {
			t.Errorf("again: %v", err)
		}
		if err := s.Use(id(nip98.MaxSeen), at); err != nip98.ErrMany {
			t.Errorf("one more: %v", err)
		}
	}
	if err := s.Use(id(nip98.MaxSeen), now.Add(2*time.Minute+time.Second)); err != nil {
		t.Errorf("later: %v", err)
	}
}

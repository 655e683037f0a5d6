package nip86_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/test/testkit"
)

// board decides in memory, and notes who decided what.
type board struct {
	allowed []moderation.Allowed
	cases   []moderation.Case
	notes   []string
}

func (b *board) Bar(_ context.Context, o moderation.Order) (moderation.Case, error) {
	b.notes = append(b.notes, "bar "+o.Subject.String()+" by "+o.By+": "+o.Why)
	x := moderation.Case{N: uint64(len(b.cases) + 1), Subject: o.Subject, By: o.By, Why: o.Why, State: moderation.Aside}
	b.cases = append(b.cases, x)
	return x, nil
}

func (b *board) LiftSubject(_ context.Context, s moderation.Subject, by, why string) (bool, error) {
	for i := range b.cases {
		if x := &b.cases[i]; x.Subject == s && x.Barred() {
			b.notes = append(b.notes, "lift "+s.String()+" by "+by+": "+why)
			x.State = moderation.Left
			return true, nil
		}
	}
	return false, nil
}

func (b *board) Allow(_ context.Context, pk nostr.PubKey, by, why string) error {
	if _, err := b.LiftSubject(context.Background(), moderation.Of(pk), by, why); err != nil {
		return err
	}
	b.notes = append(b.notes, "allow "+pk.String()+" by "+by+": "+why)
	b.allowed = append(b.allowed, moderation.Allowed{PubKey: pk, Why: why})
	return nil
}

func (b *board) Disallow(_ context.Context, pk nostr.PubKey, by, why string) (bool, error) {
	n := len(b.allowed)
	b.notes = append(b.notes, "disallow "+pk.String()+" by "+by+": "+why)
	b.allowed = slices.DeleteFunc(b.allowed, func(x moderation.Allowed) bool { return x.PubKey == pk })
	return len(b.allowed) < n, nil
}

func (b *board) Allowed() []moderation.Allowed { return b.allowed }

func (b *board) Change(_ context.Context, setting, value, by string) error {
	if value == "bad" {
		return errors.New("want a better one")
	}
	b.notes = append(b.notes, "set "+setting+" by "+by+": "+value)
	return nil
}

func (b *board) Await(_ context.Context, n uint64) moderation.Case { return b.cases[n-1] }
func (b *board) Cases() []moderation.Case                          { return slices.Clone(b.cases) }

var now = time.Unix(1_800_000_000, 0)

// desk is a relay that testkit.Key(1) manages.
type desk struct {
	t *testing.T
	board
	front *front.Front
	n     int64 // makes each authorization another one
}

func newDesk(t *testing.T, rates front.Rates) *desk {
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return now }
	d := &desk{t: t, front: front.New(front.Config{Rates: rates, Now: clock})}
	d.front.Handle(front.Route{Serve: func(w http.ResponseWriter, _ *http.Request, _ front.Client) { io.WriteString(w, "rest") }})
	d.front.Handle(nip86.Route(nip86.Config{Service: service, Keys: []nostr.PubKey{testkit.Key(1).PubKey()}, Moderation: &d.board, Settings: &d.board, Now: clock}))
	return d
}

func (d *desk) sign(key int64, body string) string {
	d.n++
	sum := sha256.Sum256([]byte(body))
	e := testkit.Sign(testkit.Key(int(key)), now.Unix(), nip98.Kind, strconv.FormatInt(d.n, 10),
		nostr.Tag{"u", "wss://relay.example.org"}, nostr.Tag{"method", "POST"}, nostr.Tag{"payload", hex.EncodeToString(sum[:])})
	return "Nostr " + base64.StdEncoding.EncodeToString(e.AppendJSON(nil))
}

func (d *desk) send(path, kind, auth, body string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.RemoteAddr = "198.51.100.1:5"
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", auth)
	w := httptest.NewRecorder()
	d.front.Handler().ServeHTTP(w, r)
	if w.Header().Get("Access-Control-Allow-Origin") != "*" {
		d.t.Error("no web page may use it")
	}
	return w.Code, strings.TrimSpace(w.Body.String())
}

// TestSpellings: a request may name the relay as its client was told to reach it, whatever the settings take its scheme and port for.
func TestSpellings(t *testing.T) {
	for domain, urls := range map[string]map[string]int{
		"nas:8443":              {"https://nas:8443": 200, "wss://NAS:8443/": 200, "ws://nas:8443": 200, "https://nas": 401, "https://nas:8443/x": 401, "https://other:8443": 401},
		"relay.example.org:443": {"https://relay.example.org": 200, "wss://relay.example.org.:443/": 200, "https://relay.example.org:8443": 401},
		"relay.example.org/git": {"https://relay.example.org/git/": 200, "https://relay.example.org": 401},
	} {
		service, err := grasp.ParseService(domain)
		if err != nil {
			t.Fatal(err)
		}
		for url, want := range urls {
			d := newDesk(t, front.Rates{})
			d.front = front.New(front.Config{Now: func() time.Time { return now }})
			d.front.Handle(nip86.Route(nip86.Config{Service: service, Keys: []nostr.PubKey{testkit.Key(1).PubKey()}, Moderation: &d.board, Now: func() time.Time { return now }}))
			const body = `{"method":"supportedmethods","params":[]}`
			h, err := nip98.Sign("POST", url, []byte(body), now, func(e *nostr.Event) error {
				*e = *testkit.Sign(testkit.Key(1), e.CreatedAt, e.Kind, "", e.Tags...)
				return nil
			})
			if code, said := d.send("/", nip86.ContentType, h, body); err != nil || code != want {
				t.Errorf("%s signed for %s: %d %s, %v", url, domain, code, said, err)
			}
		}
	}
}

// TestMethods: each does what it says, and the decision names who took it.
func TestMethods(t *testing.T) {
	d := newDesk(t, front.Rates{})
	key, id := testkit.Key(7).PubKey(), strings.Repeat("ab", 32)
	npub := nip19.Npub(key)
	for _, tt := range []struct{ body, want string }{
		{`{"method":"supportedmethods","params":[]}`, `{"result":["allowevent","allowpubkey","banevent","banpubkey","changerelaydescription","changerelayicon","changerelayname","listallowedpubkeys","listbannedevents","listbannedpubkeys","unallowpubkey","unbanpubkey","supportedmethods"]}`},
		{`{"method":"listbannedpubkeys"}`, `{"result":[]}`},
		{`{"method":"banpubkey","params":["` + key.String() + `","spam"]}`, `{"result":true}`},
		{`{"method":"banevent","params":["` + id + `"]}`, `{"result":true}`},
		{`{"method":"listbannedpubkeys","params":[]}`, `{"result":[{"pubkey":"` + key.String() + `","reason":"spam"}]}`},
		{`{"method":"listbannedevents","params":[]}`, `{"result":[{"id":"` + id + `"}]}`},
		{`{"method":"unbanpubkey","params":["` + npub + `","sorry"]}`, `{"result":true}`},
		{`{"method":"unbanpubkey","params":["` + npub + `"]}`, `{"error":"it is not banned"}`},
		{`{"method":"allowevent","params":["` + id + `"]}`, `{"result":true}`},
		{`{"method":"listbannedpubkeys","params":[]}`, `{"result":[]}`},
		{`{"method":"listbannedevents","params":[]}`, `{"result":[]}`},
		{`{"method":"listallowedpubkeys","params":[]}`, `{"result":[]}`},
		{`{"method":"allowpubkey","params":["` + npub + `","a friend"]}`, `{"result":true}`},
		{`{"method":"listallowedpubkeys","params":[]}`, `{"result":[{"pubkey":"` + key.String() + `","reason":"a friend"}]}`},
		{`{"method":"unallowpubkey","params":["` + npub + `","no friend"]}`, `{"result":true}`},
		{`{"method":"unallowpubkey","params":["` + npub + `"]}`, `{"error":"it is not on the allow list"}`},
		{`{"method":"banpubkey","params":["` + npub + `"]}`, `{"result":true}`},
		{`{"method":"allowpubkey","params":["` + npub + `"]}`, `{"result":true}`},
		{`{"method":"listbannedpubkeys","params":[]}`, `{"result":[]}`},
		{`{"method":"banpubkey","params":[]}`, `{"error":"banpubkey: want one parameter and perhaps a reason"}`},
		{`{"method":"banpubkey","params":[5]}`, `{"error":"banpubkey: the first parameter is no text"}`},
		{`{"method":"banpubkey","params":["` + npub + `",5]}`, `{"error":"banpubkey: the reason is no text"}`},
		{`{"method":"changerelayname","params":["Harbor"]}`, `{"result":true}`},
		{`{"method":"changerelaydescription","params":["Of two\nlines"]}`, `{"result":true}`},
		{`{"method":"changerelayicon","params":["https://example.org/i.png"]}`, `{"result":true}`},
		{`{"method":"changerelayname","params":["bad"]}`, `{"error":"want a better one"}`},
		{`{"method":"changerelayname","params":[]}`, `{"error":"changerelayname: want one parameter"}`},
		{`{"method":"changerelayname","params":["a","b"]}`, `{"error":"changerelayname: want one parameter"}`},
		{`{"method":"changerelayname","params":[5]}`, `{"error":"changerelayname: the parameter is no text"}`},
		{`{"method":"changerelaydomain","params":["x"]}`, `{"error":"no such method; supportedmethods names those that there are"}`},
		{`[]`, `{"error":"want {\"method\": \"...\", \"params\": [...]}"}`},
	} {
		if code, got := d.send("/", nip86.ContentType, d.sign(1, tt.body), tt.body); code != http.StatusOK || got != tt.want {
			t.Errorf("%s: %d %s\nwant %s", tt.body, code, got, tt.want)
		}
	}
	for _, method := range []string{"banpubkey", "banevent"} {
		body := `{"method":"` + method + `","params":["nobody"]}`
		if code, got := d.send("/", nip86.ContentType, d.sign(1, body), body); code != http.StatusOK || !strings.HasPrefix(got, `{"error":`) {
			t.Errorf("%s: %d %s", body, code, got)
		}
	}
	by := " by " + nip19.Npub(testkit.Key(1).PubKey()) + ": "
	want := []string{"bar author " + key.String() + by + "spam", "bar event " + id + by, "lift author " + key.String() + by + "sorry", "lift event " + id + by,
		"allow " + key.String() + by + "a friend", "disallow " + key.String() + by + "no friend", "disallow " + key.String() + by,
		"bar author " + key.String() + by, "lift author " + key.String() + by, "allow " + key.String() + by,
		"set name" + by + "Harbor", "set description" + by + "Of two\nlines", "set icon" + by + "https://example.org/i.png"}
	if !slices.Equal(d.notes, want) {
		t.Errorf("decided\n%s\nwant\n%s", strings.Join(d.notes, "\n"), strings.Join(want, "\n"))
	}
}

// TestRequests: a stranger, a replay, a large body and what is no request of management get nothing done.
func TestRequests(t *testing.T) {
	d := newDesk(t, front.Rates{})
	body := `{"method":"banpubkey","params":["` + testkit.Key(7).PubKey().String() + `"]}`
	once := d.sign(1, body)
	large := body + strings.Repeat(" ", nip86.MaxBody)
	fits := body + strings.Repeat(" ", nip86.MaxBody-len(body))
	for _, tt := range []struct {
		name, path, kind, auth, body string
		code                         int
		want                         string
	}{
		{"unsigned", "/", nip86.ContentType, "", body, 401, `{"error":"the request must be signed (NIP-98)"}`},
		{"stranger", "/", nip86.ContentType, d.sign(2, body), body, 401, `{"error":"the authorization is by a key that may not do this"}`},
		{"another body", "/", nip86.ContentType, d.sign(1, body), body + " ", 401, `{"error":"the authorization is for another request"}`},
		{"good", "/", nip86.ContentType + "; charset=utf-8", once, body, 200, `{"result":true}`},
		{"replay", "/", nip86.ContentType, once, body, 401, `{"error":"the authorization was used before"}`},
		{"large", "/", nip86.ContentType, d.sign(1, large), large, 413, `{"error":"a request has at most 64 KiB"}`},
		{"just not", "/", nip86.ContentType, d.sign(1, fits), fits, 200, `{"result":true}`},
		{"another type", "/", "application/json", d.sign(1, body), body, 200, "rest"},
		{"another path", "/x", nip86.ContentType, d.sign(1, body), body, 200, "rest"},
	} {
		if code, got := d.send(tt.path, tt.kind, tt.auth, tt.body); code != tt.code || got != tt.want {
			t.Errorf("%s: %d %s, want %d %s", tt.name, code, got, tt.code, tt.want)
		}
	}
	if len(d.notes) != 2 {
		t.Errorf("decided: %q", d.notes)
	}
}

// TestRequestsAreCharged: what strangers send uses up what their address may have, in requests and in bytes.
func TestRequestsAreCharged(t *testing.T) {
	for name, rates := range map[string]front.Rates{"requests": {Requests: 1}, "bytes": {Bytes: 10}} {
		d, codes := newDesk(t, rates), []int{}
		for range 11 {
			code, _ := d.send("/", nip86.ContentType, "", strings.Repeat(" ", 99))
			codes = append(codes, code)
		}
		if codes[0] != 401 || codes[10] != 429 {
			t.Errorf("%s: %v", name, codes)
		}
	}
}

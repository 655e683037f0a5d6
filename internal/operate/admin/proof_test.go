package admin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestWhatChangesSomethingIsProven: of every POST that the listener answers, whoever reaches it has to prove that they may. Nothing is done
// where they do not.
func TestWhatChangesSomethingIsProven(t *testing.T) {
	own, other := testkit.Key(1), testkit.Key(2)
	author := moderation.Of(testkit.Key(3).PubKey())
	forms := map[string]url.Values{
		"/retry": {"url": {"wss://dead.example.net"}}, "/delete": {"author": {author.PubKey.String()}}, "/restore": {"case": {"1"}},
		"/remove": {"subject": {author.String()}}, "/dismiss": {"subject": {author.String()}}, "/backup": nil,
	}
	done := 0
	c := here
	d := &desk{open: []moderation.Reported{reported(author, "")}}
	c.Moderation, c.Reports, c.Self = d, d, own.PubKey()
	c.Sync = fakeSync{retry: func(grasp.RelayURL) error { done++; return nil }}
	c.Node = whole{backup: func(string) error { done++; return nil }}
	pages := admin.New(c)
	tried := 0
	for _, pattern := range pages.Routes() {
		path, post := strings.CutPrefix(pattern, "POST ")
		if !post || path == "/against" { // which changes nothing
			continue
		}
		tried++
		form, known := forms[path]
		if !known {
			t.Errorf("%s is not tried", path)
			continue
		}
		body := form.Encode()
		if path == "/backup" {
			body = `{"dir":"/backups/a"}`
		}
		for _, x := range []struct {
			name  string
			how   func(*http.Request) *http.Request
			query string
			may   bool
		}{
			{"whoever reaches it", func(r *http.Request) *http.Request { return r }, "", false},
			{"the relay's key", func(r *http.Request) *http.Request { return sign(t, r, body, "", own.Sign) }, "", true},
			{"another key", func(r *http.Request) *http.Request { return sign(t, r, body, "", other.Sign) }, "", false},
			{"what was signed for another path", func(r *http.Request) *http.Request { return sign(t, r, body, "/other", own.Sign) }, "", false},
			{"what was signed with another body", func(r *http.Request) *http.Request { return sign(t, r, body+"&by=me", "", own.Sign) }, "", false},
			{"a query that nobody signed", func(r *http.Request) *http.Request { return sign(t, r, body, "", own.Sign) }, "?reason=x", false},
			{"somebody who has signed in", func(r *http.Request) *http.Request { return r.WithContext(admin.AsOperator(r.Context(), "npub1x")) }, "", path != "/backup"},
			{"a unix socket", throughSocket, "", path != "/backup"},
		} {
			done, d.notes = 0, nil
			r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1:7335"+path+x.query, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, x.how(r))
			if (w.Code == http.StatusOK) != x.may || (done+len(d.notes) > 0) != x.may || !x.may && w.Code != http.StatusUnauthorized {
				t.Errorf("%s by %s: %d %q, done %v", path, x.name, w.Code, w.Body, done+len(d.notes) > 0)
			}
		}
	}
	if tried != len(forms) {
		t.Errorf("%d of %d were tried", tried, len(forms))
	}
}

type signer func(*nostr.Event, [32]byte) error

func (s signer) event(e *nostr.Event) error { return s(e, [32]byte{}) }

// sign signs a request of that body, for another path where one is given.
func sign(t *testing.T, r *http.Request, body, path string, by signer) *http.Request {
	t.Helper()
	to := httptest.NewRequestWithContext(t.Context(), r.Method, "http://127.0.0.1:7335"+r.URL.Path, nil)
	if path != "" {
		to.URL.Path = path
	}
	if err := admin.Authorize(to, []byte(body), time.Now(), by.event); err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", to.Header.Get("Authorization"))
	return r
}

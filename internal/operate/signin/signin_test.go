package signin_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/operate/backup"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/operate/signin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/test/testkit"
)

type fakeStore struct{}

func (fakeStore) Stats() store.Stats        { return store.Stats{} }
func (fakeStore) Failure() error            { return nil }
func (fakeStore) Room() error               { return nil }
func (fakeStore) Disk() (store.Disk, error) { return store.Disk{}, nil }

// bench is moderation that notes who decided.
type bench struct{ notes []string }

func (b *bench) Repositories(nostr.ID) []nip34.Address { return nil }
func (b *bench) Title(moderation.Subject) string       { return "" }

func (b *bench) Preview(context.Context, moderation.Subject) (moderation.Preview, error) {
	return moderation.Preview{}, nil
}
func (b *bench) Bar(_ context.Context, o moderation.Order) (moderation.Case, error) {
	b.notes = append(b.notes, o.By)
	return moderation.Case{N: 1}, nil
}
func (b *bench) Lift(context.Context, uint64, string, string) (moderation.Case, error) {
	return moderation.Case{}, nil
}
func (b *bench) Await(context.Context, uint64) moderation.Case { return moderation.Case{N: 1} }
func (b *bench) Cases() []moderation.Case                      { return nil }
func (b *bench) Journal(int) ([]moderation.Entry, error)       { return nil, nil }
func (b *bench) Open() []moderation.Reported                   { return nil }
func (b *bench) Dismiss(_ context.Context, _ moderation.Subject, by, _ string) error {
	b.notes = append(b.notes, by)
	return nil
}
func (b *bench) Remove(_ context.Context, _ moderation.Subject, by, _ string) (moderation.Case, error) {
	b.notes = append(b.notes, by)
	return moderation.Case{N: 1}, nil
}

const origin = "https://relay.example.org"

var boss, stranger = testkit.Key(1), testkit.Key(2)

// relay is one whose operator's page testkit.Key(1) may see.
type relay struct {
	*testing.T
	bench bench
	pages *admin.Pages
	front http.Handler
	now   time.Time
	log   strings.Builder
	made  int64
}

func newRelay(t *testing.T) *relay { return newRelayAt(t, "relay.example.org") }

func newRelayAt(t *testing.T, domain string) *relay {
	s, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{T: t, now: time.Unix(1_800_000_000, 0)}
	clock := func() time.Time { return r.now }
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("figures")) })
	r.pages = admin.New(admin.Config{
		URL: s.RelayURL(), Store: fakeStore{}, Moderation: &r.bench, Reports: &r.bench, Metrics: metrics, Node: copier{},
	})
	f := front.New(front.Config{Now: clock})
	f.Handle(signin.Route(signin.Config{Service: s, Keys: []nostr.PubKey{boss.PubKey()}, Pages: r.pages, Now: clock, Logger: r.logger()}))
	r.front = f.Handler()
	return r
}

// logger writes into log, without times.
func (r *relay) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// ask sends a request from an address, with headers in pairs.
func (r *relay) ask(method, path, from string, headers ...string) *httptest.ResponseRecorder {
	w, q := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader("subject=event+"+strings.Repeat("ab", 32)))
	q.RemoteAddr = from + ":5"
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	r.front.ServeHTTP(w, q)
	return w
}

const home, elsewhere = "198.51.100.1", "203.0.113.1"

// authorization is what a key signs to sign in.
func (r *relay) authorization(key nostr.SecretKey, url string) string {
	r.Helper()
	r.made++
	h, err := nip98.Sign("POST", url, []byte("sign in to graspd"), r.now, func(e *nostr.Event) error {
		*e = *testkit.Sign(key, e.CreatedAt, e.Kind, strconv.FormatInt(r.made, 10), e.Tags...)
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return h
}

func (r *relay) login(header, body, site string) *httptest.ResponseRecorder {
	w, q := httptest.NewRecorder(), httptest.NewRequest("POST", "/operator/login", strings.NewReader(body))
	q.RemoteAddr = home + ":5"
	q.Header.Set("Authorization", header)
	if site != "" {
		q.Header.Set("Origin", site)
	}
	r.front.ServeHTTP(w, q)
	return w
}

// session signs in and gives the Cookie header.
func (r *relay) session() string {
	r.Helper()
	w := r.login(r.authorization(boss, origin+"/operator/login"), "sign in to graspd", origin)
	if w.Code != http.StatusNoContent {
		r.Fatalf("%d %s", w.Code, w.Body)
	}
	c := w.Result().Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/operator/" || c.MaxAge != 3600 || len(c.Value) < 26 {
		r.Errorf("%+v", c)
	}
	return c.Name + "=" + c.Value
}

// doors are all that the pages answer, as method and path.
func (r *relay) doors() (out [][2]string) {
	for _, pattern := range r.pages.Routes() {
		method, path, _ := strings.Cut(pattern, " ")
		out = append(out, [2]string{method, "/operator" + strings.TrimSuffix(path, "{$}")})
	}
	if len(out) < 20 {
		r.Fatalf("%d doors", len(out))
	}
	return out
}

// TestAStrangerAtEveryDoor gets the page to sign in or nothing, with a cookie of somebody else's making too, and nothing is done.
func TestAStrangerAtEveryDoor(t *testing.T) {
	r := newRelay(t)
	shown := map[string]bool{"/operator/page.css": true, "/operator/icon.svg": true}
	for _, d := range append(r.doors(), [2]string{"POST", "/operator/logout"}, [2]string{"GET", "/operator/nothing"}, [2]string{"GET", "/operator/../operator/status.json"}) {
		for _, headers := range [][]string{nil, {"Cookie", "graspd_operator=x"}, {"Cookie", "graspd_operator=x", "Origin", origin, "Sec-Fetch-Site", "same-origin"}} {
			w := r.ask(d[0], d[1], home, headers...)
			asked := w.Code == http.StatusUnauthorized && strings.Contains(w.Body.String(), "Sign in with the extension") && d[0] == "GET" && admin.IsPage(strings.TrimPrefix(d[1], "/operator/"))
			if !asked && w.Code != http.StatusNotFound && !(shown[d[1]] && w.Code == http.StatusOK) {
				t.Errorf("%v %v: %d %.60s", d, headers, w.Code, w.Body)
			}
			if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Cache-Control") != "no-store" || len(w.Result().Cookies()) > 0 {
				t.Errorf("%v: %v", d, w.Header())
			}
		}
	}
	if len(r.bench.notes) > 0 {
		t.Errorf("decided: %q", r.bench.notes)
	}
}

// TestAnOperatorAtEveryDoor gets what the private listener has, without the backup, and what they decide is theirs.
func TestAnOperatorAtEveryDoor(t *testing.T) {
	r := newRelay(t)
	cookie := r.session()
	for _, d := range r.doors() {
		w := r.ask(d[0], d[1], home, "Cookie", cookie, "Origin", origin)
		if (w.Code == http.StatusNotFound) != (d[1] == "/operator/backup" || d[1] == "/operator/relay" || d[1] == "/operator/repository") || w.Code == http.StatusUnauthorized {
			t.Errorf("%v: %d %.60s", d, w.Code, w.Body)
		}
	}
	name := nip19.Npub(boss.PubKey())
	if p := r.ask("GET", "/operator/", home, "Cookie", cookie).Header().Get("Referrer-Policy"); p != "same-origin" {
		t.Errorf("browsers hide whose form it is: %q", p)
	}
	if page := r.ask("GET", "/operator/", home, "Cookie", cookie).Body.String(); !strings.Contains(page, "Sign out") || !strings.Contains(page, name) {
		t.Error("the page does not say who has signed in")
	}
	if len(r.bench.notes) != 2 || r.bench.notes[0] != name || r.bench.notes[1] != name {
		t.Errorf("decided by %q", r.bench.notes)
	}
	if w := r.ask("GET", "/operator", home); w.Code != http.StatusSeeOther || w.Header().Get("Location") != origin+"/operator/" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestOtherSitesDoNothing: a POST with the cookie that a page of another site, or one that does not say, has made.
func TestOtherSitesDoNothing(t *testing.T) {
	r := newRelay(t)
	cookie := r.session()
	for _, d := range append(r.doors(), [2]string{"POST", "/operator/logout"}, [2]string{"POST", "/operator/login"}) {
		if d[0] != "POST" {
			continue
		}
		for _, headers := range [][]string{nil, {"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://relay.example.org"}, {"Origin", origin, "Sec-Fetch-Site", "cross-site"}, {"Origin", origin, "Sec-Fetch-Site", "same-site"}} {
			if w := r.ask("POST", d[1], home, append([]string{"Cookie", cookie}, headers...)...); w.Code != http.StatusForbidden {
				t.Errorf("%s %v: %d", d[1], headers, w.Code)
			}
		}
	}
	if len(r.bench.notes) > 0 {
		t.Errorf("decided: %q", r.bench.notes)
	}
	if w := r.ask("GET", "/operator/status.json", home, "Cookie", cookie); w.Code != http.StatusOK {
		t.Errorf("the session has ended: %d", w.Code)
	}
}

// TestSigningIn: what is not by an operator's key, for this address, of now and for the first time begins no session.
func TestSigningIn(t *testing.T) {
	r := newRelay(t)
	url, body := origin+"/operator/login", "sign in to graspd"
	once := r.authorization(boss, url)
	old := r.authorization(boss, url)
	for _, tt := range []struct {
		name, header, body, site string
		after                    time.Duration
		code                     int
	}{
		{"unsigned", "", body, origin, 0, 401},
		{"a stranger", r.authorization(stranger, url), body, origin, 0, 401},
		{"for the management", r.authorization(boss, origin), body, origin, 0, 401},
		{"another body", r.authorization(boss, url), "x", origin, 0, 401},
		{"a long body", r.authorization(boss, url), strings.Repeat(body, 3), origin, 0, 400},
		{"another site", r.authorization(boss, url), body, "https://evil.example", 0, 403},
		{"no site", r.authorization(boss, url), body, "", 0, 403},
		{"good", once, body, origin, 0, 204},
		{"again", once, body, origin, 0, 401},
		{"old", old, body, origin, 61 * time.Second, 401},
	} {
		r.now = r.now.Add(tt.after)
		w := r.login(tt.header, tt.body, tt.site)
		if w.Code != tt.code || (len(w.Result().Cookies()) > 0) != (tt.code == 204) {
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		}
	}
}

// TestSigningInBehindEncryption: where a proxy adds the encryption, on a name or a port for which the settings have none, the browser's URL counts.
func TestSigningInBehindEncryption(t *testing.T) {
	for _, tt := range []struct {
		domain, origin string
		code           int
		secure         bool
	}{
		{"nas:8443", "https://nas:8443", 204, true},
		{"nas:8443", "http://nas:8443", 204, false},
		{"NAS.local.:443", "https://nas.local", 204, true},
		{"10.0.0.7:7334", "https://10.0.0.7:7334", 204, true},
		{"nas:8443", "https://nas", 403, false},
		{"nas:8443", "https://nas:8444", 403, false},
		{"nas:8443", "https://nas:8443/x", 403, false},
		{"relay.example.org", "http://relay.example.org", 403, false},
	} {
		r := newRelayAt(t, tt.domain)
		w := r.login(r.authorization(boss, tt.origin+"/operator/login"), "sign in to graspd", tt.origin)
		if w.Code != tt.code || tt.code == 204 && w.Result().Cookies()[0].Secure != tt.secure {
			t.Errorf("%s at %s: %d %s %v", tt.domain, tt.origin, w.Code, w.Body, w.Header())
		}
	}
	r := newRelayAt(t, "nas:8443")
	if w := r.ask("GET", "/operator", home); w.Header().Get("Location") != "/operator/" {
		t.Errorf("%v", w.Header())
	}
}

// TestSessionsEnd: after an hour, elsewhere, when signed out, and the oldest where there are too many.
func TestSessionsEnd(t *testing.T) {
	r := newRelay(t)
	in := func(cookie, from string) bool {
		return r.ask("GET", "/operator/status.json", from, "Cookie", cookie).Code == http.StatusOK
	}
	first := r.session()
	if !in(first, home) || in(first, elsewhere) || in(first+"x", home) {
		t.Error("the session is not that of who has signed in")
	}
	r.now = r.now.Add(signin.Lifetime - time.Second)
	if !in(first, home) {
		t.Error("it has ended early")
	}
	second := r.session()
	if r.now = r.now.Add(time.Second); in(first, home) || !in(second, home) {
		t.Error("it has not ended after an hour")
	}
	w := r.ask("POST", "/operator/logout", home, "Cookie", second, "Origin", origin)
	if c := w.Result().Cookies(); w.Code != http.StatusSeeOther || len(c) != 1 || c[0].MaxAge >= 0 || in(second, home) {
		t.Errorf("signed out: %d %v", w.Code, c)
	}
	third := r.session()
	for range signin.MaxSessions - 1 {
		r.now = r.now.Add(time.Second)
		r.session()
	}
	if !in(third, home) {
		t.Error("one of few has ended")
	}
	if r.session(); in(third, home) {
		t.Error("there is no bound")
	}
}

// TestTheLogSaysWhoSignsIn: who has signed in and out and from where, and what was refused; but nothing with which somebody else could.
func TestTheLogSaysWhoSignsIn(t *testing.T) {
	r := newRelay(t)
	cookie := r.session()
	r.ask("POST", "/operator/logout", home, "Cookie", cookie, "Origin", origin)
	r.ask("POST", "/operator/logout", home, "Cookie", cookie, "Origin", origin) // has ended already
	forged := r.authorization(stranger, origin+"/operator/login")
	r.login(forged, "sign in to graspd", origin)
	by := "operator=" + nip19.Npub(boss.PubKey()) + " client=" + home + "\n"
	want := `level=INFO msg="an operator has signed in" ` + by + `level=INFO msg="an operator has signed out" ` + by +
		`level=INFO msg="a sign-in was refused" client=` + home + ` error="the authorization is by a key that may not do this"` + "\n"
	if got := r.log.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// copier makes backups of nothing.
type copier struct{}

func (copier) Backup(string) error                        { return nil }
func (copier) Stream(context.Context, backup.Start) error { return nil }
func (copier) Nothing() *status.Nothing                   { return nil }
func (copier) Changes() []nip86.Change                    { return nil }
func (copier) Filled() *status.Readiness                  { return nil }
func (copier) Against(context.Context, grasp.RelayURL) (against.Report, error) {
	return against.Report{}, nil
}

// Package signin opens the operator's page through the public listener, for those whom the operator names: a browser's extension signs
// a request once (NIP-07, NIP-98), and a cookie stands for that for a while. Everybody else meets the page that asks them to sign in, or
// nothing. Read Route.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/admin"
	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip19"
	"github.com/graspd/graspd/internal/nip98"
	"github.com/graspd/graspd/internal/nostr"
)

// Path is where the pages are, below the base of the service.
const Path = "/operator/"

// Bounds of sessions.
const (
	Lifetime    = time.Hour // of a session, from its beginning on
	MaxSessions = 32        // beyond that the oldest ends
)

const (
	cookieName = "graspd_operator"
	loginBody  = "sign in to graspd" // what is signed, beside the address
)

//go:embed assets
var assets embed.FS

var loginPage = template.Must(template.ParseFS(assets, "assets/login.html"))

// Config says who sees what. Every field but Token and Logger is needed.
type Config struct {
	Service grasp.Service
	Keys    []nostr.PubKey // who may
	Pages   *admin.Pages
	Now     func() time.Time
	Token   func() string // makes the secret of a session; nil is crypto/rand
	Logger  *slog.Logger  // told who signs in and out, and what is refused; nil is silent
}

// session is one browser of an operator.
type session struct {
	by       nostr.PubKey
	from     netip.Addr // the address, or the network of an IPv6 one, from which it was begun
	ends     time.Time
	underWay map[int]context.CancelFunc // requests, by a number; nil once it has ended
	last     int
}

// desk keeps who is signed in.
type desk struct {
	Config
	at     string // the path
	url    string // that of the pages, as a browser sees it
	origin string

	mu       sync.Mutex // guards what follows
	seen     nip98.Seen
	sessions map[[32]byte]*session // by the hash of the secret
}

// Route answers everything below Path.
func Route(c Config) front.Route {
	if c.Token == nil {
		c.Token = rand.Text
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	d := &desk{Config: c, at: c.Service.Base() + Path, url: c.Service.WebURL() + Path, sessions: map[[32]byte]*session{}}
	if u, err := url.Parse(d.url); err == nil {
		d.origin = u.Scheme + "://" + u.Host
	}
	return front.Route{Name: "operator's page", Door: front.Own, Takes: func(r *http.Request) bool { _, ok := d.rest(r); return ok }, Serve: d.serve}
}

// rest is the path of a request below the pages. A proxy may or may not take the service's path off.
func (d *desk) rest(r *http.Request) (string, bool) {
	for _, at := range []string{d.at, Path} {
		if rest, ok := strings.CutPrefix(r.URL.Path, at); ok {
			return rest, true
		}
		if r.URL.Path+"/" == at {
			return "..", true // without the slash, links would lead elsewhere
		}
	}
	return "", false
}

// open are the paths that strangers may get: what the page that asks them to sign in is made of.
var open = []string{"login.js", "page.css", "icon.svg"}

func (d *desk) serve(w http.ResponseWriter, r *http.Request, from front.Client) {
	closeToOthers(w.Header())
	if wait := from.Visitor.Admit(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(1+int(wait/time.Second)))
		http.Error(w, "too many requests from your address", http.StatusTooManyRequests)
		return
	}
	rest, _ := d.rest(r)
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	s := d.session(r, from)
	switch {
	case !get && r.Method != http.MethodPost:
		http.Error(w, "only GET and POST", http.StatusMethodNotAllowed)
	case !get && !d.sameOrigin(r) && (s != nil || rest == "login"):
		http.Error(w, "not for pages of other sites: open "+d.url, http.StatusForbidden)
	case !get && rest == "login":
		d.login(w, r, from)
	case get && rest == "..":
		w.Header().Set("Location", d.url)
		w.WriteHeader(http.StatusSeeOther)
	case get && slices.Contains(open, rest):
		d.asset(w, r, rest)
	case s == nil && get && admin.IsPage(rest):
		d.ask(w)
	case s == nil, rest == "backup", rest == "login":
		http.NotFound(w, r)
	case !get && rest == "logout":
		d.end(r)
		d.Logger.Info("an operator has signed out", "operator", nip19.Npub(s.by), "client", from.Addr)
		http.SetCookie(w, d.cookie("", -1))
		w.Header().Set("Location", "./")
		w.WriteHeader(http.StatusSeeOther)
	default:
		d.show(w, r, rest, s)
	}
}

// closeToOthers takes back what lets the pages of other sites read the rest of the service.
func closeToOthers(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			h.Del(name)
		}
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex")
}

// sameOrigin is whether a page of this relay sends a request. Browsers name the origin of every POST.
func (d *desk) sameOrigin(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Origin") == d.origin && (site == "" || site == "same-origin")
}

// show has the operator's pages answer.
func (d *desk) show(w http.ResponseWriter, r *http.Request, rest string, s *session) {
	ctx, cancel := context.WithTimeout(admin.AsOperator(r.Context(), nip19.Npub(s.by)), s.ends.Sub(d.Now()))
	defer cancel()
	defer d.enter(s, cancel)()
	r = r.Clone(ctx)
	r.Header.Del("Cookie")
	r.URL.Path, r.URL.RawPath = "/"+rest, ""
	if r.Method == http.MethodGet { // the end of a read would be taken for the client's leaving
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a connection that takes none has none
	}
	d.Pages.Inner().ServeHTTP(w, r)
}

// ask shows strangers the page on which operators sign in.
func (d *desk) ask(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusUnauthorized)
	sum := sha256.Sum256([]byte(loginBody))
	_ = loginPage.Execute(w, map[string]string{"URL": d.url + "login", "Payload": hex.EncodeToString(sum[:]), "Body": loginBody}) // whoever asked may be gone
}

func (d *desk) asset(w http.ResponseWriter, r *http.Request, name string) {
	if name != "login.js" {
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = "/"+name, ""
		d.Pages.Inner().ServeHTTP(w, r)
		return
	}
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(b)
}

// login begins a session for who has signed the request.
func (d *desk) login(w http.ResponseWriter, r *http.Request, from front.Client) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2*int64(len(loginBody))))
	from.Visitor.Received(len(body))
	if err != nil {
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return
	}
	now := d.Now()
	e, err := nip98.Check(r.Header.Get("Authorization"), nip98.Request{
		URLs: []string{d.url + "login"}, Method: http.MethodPost, Body: body, May: func(pk nostr.PubKey) bool { return slices.Contains(d.Keys, pk) },
	}, now)
	if err == nil {
		err = d.use(e.ID, now)
	}
	if err != nil {
		d.Logger.Info("a sign-in was refused", "client", from.Addr, "error", err)
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	d.Logger.Info("an operator has signed in", "operator", nip19.Npub(e.PubKey), "client", from.Addr)
	http.SetCookie(w, d.cookie(d.begin(e.PubKey, from, now), int(Lifetime/time.Second)))
	w.WriteHeader(http.StatusNoContent)
}

func (d *desk) use(id nostr.ID, now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.Use(id, now)
}

// cookie holds the secret of a session. No script reads it, and no other site has it sent.
func (d *desk) cookie(secret string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: secret, Path: d.at, MaxAge: age, HttpOnly: true, Secure: strings.HasPrefix(d.url, "https:"), SameSite: http.SameSiteStrictMode,
	}
}

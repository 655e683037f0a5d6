// Package signin opens the operator's page through the public listener, for those whom the operator names. A browser's extension signs a
// request once (NIP-07, NIP-98), and a cookie stands for that signature for a while. Everybody else gets the page that asks them to sign
// in, or nothing. Read Route.
package signin

import (
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// Path is the path of the pages, below the base of the service.
const Path = "/operator/"

// Bounds of sessions.
const (
	Lifetime    = time.Hour // of a session, from its beginning
	MaxSessions = 32        // beyond that the oldest ends
)

const (
	cookieName = "graspd_operator"
	loginBody  = "sign in to graspd" // the body of the signed request
)

//go:embed assets
var assets embed.FS

var loginPage = template.Must(template.ParseFS(assets, "assets/login.html"))

// Config says who may see which pages. Every field but From, Token and Logger is needed.
type Config struct {
	Service grasp.Service
	Keys    []nostr.PubKey // who may
	Pages   *admin.Pages
	Now     func() time.Time
	From    time.Time     // who signs in has signed later; zero is any time
	Token   func() string // makes the secret of a session; nil is rand.Text
	Logger  *slog.Logger  // hears who signs in and out, and who is refused; nil is silent
}

// session is one browser of an operator.
type session struct {
	by   nostr.PubKey
	from netip.Addr // the address, or the network of an IPv6 one, at which it began
	ends time.Time
}

// desk keeps who is signed in.
type desk struct {
	Config
	at  string // the path of the pages
	url string // the URL of the pages, as the settings have it

	mu       sync.Mutex // guards the fields below
	seen     nip98.Seen
	sessions map[[32]byte]*session // by the hash of the secret
}

// Route returns the route that answers everything below Path.
func Route(c Config) front.Route {
	if c.Token == nil {
		c.Token = rand.Text
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	d := &desk{Config: c, at: c.Service.Base() + Path, url: c.Service.WebURL() + Path, sessions: map[[32]byte]*session{}}
	return front.Route{Name: "operator's page", Door: front.Own, Takes: func(r *http.Request) bool { _, ok := d.rest(r); return ok }, Serve: d.serve}
}

// rest returns the path of a request below the pages, ".." for Path without its slash, and reports whether the request is for the pages. A
// proxy may or may not take the service's path off.
func (d *desk) rest(r *http.Request) (string, bool) {
	for _, at := range []string{d.Service.Root() + Path, Path} {
		if rest, ok := strings.CutPrefix(r.URL.Path, at); ok {
			return rest, true
		}
		if r.URL.Path+"/" == at {
			return "..", true // links of a page without the slash would lead elsewhere
		}
	}
	return "", false
}

// open has the paths that strangers may get: the parts of the page that asks them to sign in.
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
		to := d.at // a proxy may have added the encryption that the settings do not have
		if strings.HasPrefix(d.url, "https:") {
			to = d.url
		}
		w.Header().Set("Location", to)
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
		http.SetCookie(w, d.cookie(r, "", -1))
		w.Header().Set("Location", "./")
		w.WriteHeader(http.StatusSeeOther)
	default:
		d.show(w, r, rest, s)
	}
}

// closeToOthers takes out the headers that let pages of other sites read the rest of the service.
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

// sameOrigin reports whether a page of this relay sends a request. Browsers name the origin of every POST. Where the settings have an encrypted
// connection, no page of another one counts.
func (d *desk) sameOrigin(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	encrypted := strings.HasPrefix(origin, "https:") || !strings.HasPrefix(d.url, "https:")
	return encrypted && d.Service.Names(origin, "") && (site == "" || site == "same-origin")
}

// show has the operator's pages answer.
func (d *desk) show(w http.ResponseWriter, r *http.Request, rest string, s *session) {
	r = r.Clone(admin.AsOperator(r.Context(), nip19.Npub(s.by)))
	r.Header.Del("Cookie")
	r.URL.Path, r.URL.RawPath = "/"+rest, ""
	d.Pages.Inner().ServeHTTP(w, r)
}

// ask sends the page on which operators sign in.
func (d *desk) ask(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusUnauthorized)
	sum := sha256.Sum256([]byte(loginBody))
	_ = loginPage.Execute(w, map[string]string{"URL": d.url + "login", "Payload": hex.EncodeToString(sum[:]), "Body": loginBody}) // the client may be gone
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
		panic(err) // the file is embedded
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(b)
}

// login begins a session for the key that has signed the request.
func (d *desk) login(w http.ResponseWriter, r *http.Request, from front.Client) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2*int64(len(loginBody))))
	from.Visitor.Received(len(body))
	if err != nil {
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return
	}
	now := d.Now()
	e, err := nip98.Check(r.Header.Get("Authorization"), nip98.Request{
		Names: func(u string) bool { return d.Service.Names(u, d.Service.Root()+Path+"login") }, Method: http.MethodPost, Body: body, From: d.From, May: func(pk nostr.PubKey) bool { return slices.Contains(d.Keys, pk) },
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
	http.SetCookie(w, d.cookie(r, d.begin(e.PubKey, from, now), int(Lifetime/time.Second)))
	w.WriteHeader(http.StatusNoContent)
}

func (d *desk) use(id nostr.ID, now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.Use(id, now)
}

// cookie makes the cookie with the secret of a session, for age seconds. No script can read it, and a request that another site causes has
// none. A browser that came over an encrypted connection sends it over no other.
func (d *desk) cookie(r *http.Request, secret string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: secret, Path: d.at, MaxAge: age, HttpOnly: true, Secure: strings.HasPrefix(d.url, "https:") || strings.HasPrefix(r.Header.Get("Origin"), "https:"), SameSite: http.SameSiteStrictMode,
	}
}

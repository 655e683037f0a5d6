package node_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/members"
	"github.com/graspd/graspd/internal/test/testkit"
)

const (
	private = "relay.example.org"
	hidden  = "hidden-tool" // the repository that is there
	words   = "what it is for"
)

// People by number: a member who owns the repository, a stranger, and somebody who manages the relay and is no member.
const (
	member = iota + 1
	stranger
	manager
)

// house is a private node that runs, with one repository.
type house struct {
	t    *testing.T
	node *node.Node
	addr string
	repo string // its path
}

func newHouse(t *testing.T) *house {
	t.Helper()
	owner := testkit.Key(member)
	n, err := node.New(node.Config{
		Dir: t.TempDir(), Service: service(t), Git: &node.Git{Contributors: true}, AdminKeys: []nostr.PubKey{testkit.Key(manager).PubKey()},
		Private: &node.Private{Members: policy.PubKeys{owner.PubKey(): {}}}, Info: nip11.Document{PubKey: testkit.Key(manager).PubKey().String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, node.Listeners{Public: l}) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	})
	h := &house{t: t, node: n, addr: l.Addr().String(), repo: "/" + nip19.Npub(owner.PubKey()) + "/" + hidden + ".git"}
	source := n.Door.Source(ingest.SourceConfig{Label: "test"})
	defer source.Close()
	for _, e := range []*nostr.Event{
		testkit.Sign(owner, time.Now().Unix(), nip34.KindRepository, "", nostr.Tag{"d", hidden}, nostr.Tag{"description", words},
			nostr.Tag{"private", "true"}, nostr.Tag{"clone", "https://" + private + h.repo}, nostr.Tag{"relays", "wss://" + private}),
		testkit.Sign(owner, time.Now().Unix(), nip34.KindState, "", nostr.Tag{"d", hidden}),
	} {
		done := make(chan policy.Verdict, 1)
		if err := source.Submit(t.Context(), e, store.Catchup, func(v policy.Verdict) { done <- v }); err != nil {
			t.Fatal(err)
		}
		if v := <-done; !v.OK() {
			t.Fatalf("kind %d: %+v", e.Kind, v)
		}
	}
	return h
}

// signed is a credential for a path by somebody, off by so much.
func (h *house) signed(n int, path string, off time.Duration) string {
	h.t.Helper()
	head, err := nip98.SignStanding("https://"+private+path, time.Now().Add(off), func(e *nostr.Event) error {
		*e = *testkit.Sign(testkit.Key(n), e.CreatedAt, e.Kind, e.Content, e.Tags...)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return head
}

// request is one of the front's.
type request struct {
	path   string
	header http.Header
	shows  string // in what a member gets
}

// examples are requests that each route takes, by its name. Every route has some.
func (h *house) examples() map[string][]request {
	html := http.Header{"Accept": {"text/html"}}
	at := func(header http.Header, shows string, paths ...string) (out []request) {
		for _, p := range paths {
			out = append(out, request{p, header, shows})
		}
		return out
	}
	id := strings.Repeat("ab", 32)
	return map[string][]request{
		"address":    at(nil, "", front.AddressPath),
		"management": at(http.Header{"Content-Type": {"application/nostr+json+rpc"}}, "", "/"),
		"git": slices.Concat(
			at(nil, "service=git-upload-pack", h.repo+"/info/refs?service=git-upload-pack", "/prs"+h.repo+"/info/refs?service=git-upload-pack"),
			at(nil, "service=git-receive-pack", h.repo+"/info/refs?service=git-receive-pack"),
			at(nil, "", h.repo+"/git-upload-pack", h.repo+"/git-receive-pack", "/prs"+h.repo+"/git-receive-pack", "/npub1/x.git/info/refs?service=git-upload-pack",
				h.repo+"/HEAD", h.repo+"/archive/HEAD.tar.gz", h.repo+"/objects/info/packs", strings.Replace(h.repo, "tool", "other", 1)+"/info/refs?service=git-upload-pack")),
		"repository pages": slices.Concat(
			at(html, words, h.repo),
			at(html, "Issues", h.repo+"/issues"), at(nil, "<feed", h.repo+"/issues.atom"),
			at(html, "", h.repo+"/pulls?page=2", h.repo+"/patches/"+id, "/note1"+id, "/nevent1"+id,
				strings.Replace(h.repo, "tool", "other", 1))),
		"relay": slices.Concat(
			at(http.Header{"Accept": {nip11.ContentType}}, "", "/"),
			at(http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, "", "/"),
			at(nil, "", "/.well-known/nostr.json?name=_", "/.well-known/nostr.json?name="+hidden)),
		"relay pages": slices.Concat(at(html, hidden, "/", "/?q=hidden", "/feed.atom"), at(html, "", "/?page=7", "/favicon.ico", "/metrics", "/prs/x", "/%2e%2e/x")),
	}
}

// do asks the front.
func (h *house) do(method string, q request, more ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, q.path, strings.NewReader("0000"))
	for k, v := range q.header {
		r.Header[k] = v
	}
	for i := 0; i+1 < len(more); i += 2 {
		r.Header.Add(more[i], more[i+1])
	}
	r.RemoteAddr = "127.0.0.1:5"
	w := httptest.NewRecorder()
	h.node.Front.Handler().ServeHTTP(w, r)
	return w
}

// taker is the name of the route that takes a request.
func (h *house) taker(q request, method string) string {
	r := httptest.NewRequest(method, q.path, nil)
	r.Header = q.header
	for _, route := range h.node.Front.Routes() {
		if route.Takes == nil || route.Takes(r) {
			return route.Name
		}
	}
	return ""
}

// wrong is what no member sends, by what is wrong with it.
func (h *house) wrong(q request) map[string][]string {
	r := httptest.NewRequest(http.MethodGet, q.path, nil)
	root := members.RootOf(h.node.Service(), r.URL)
	good := h.signed(member, root, 0)
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(good, "Nostr "))
	if err != nil {
		h.t.Fatal(err)
	}
	e, err := nostr.ParseEvent(b)
	if err != nil {
		h.t.Fatal(err)
	}
	e = e.Clone()
	e.Sig[3] ^= 1
	return map[string][]string{
		"nothing":             nil,
		"an empty one":        {""},
		"another scheme":      {"Basic bWU6bWU="},
		"no base64":           {"Nostr ..."},
		"no event":            {"Nostr e30="},
		"a stranger":          {h.signed(stranger, root, 0)},
		"a manager":           {h.signed(manager, root, 0)},
		"old":                 {h.signed(member, root, -2*time.Minute)},
		"early":               {h.signed(member, root, 2*time.Minute)},
		"for something else":  {h.signed(member, "/npub1/y.git", 0)},
		"forged":              {"Nostr " + base64.StdEncoding.EncodeToString(e.AppendJSON(nil))},
		"a stranger and more": {h.signed(stranger, root, 0), good},
	}
}

// TestEveryRouteHasADoor: whatever the front serves says what a private service demands for it, and is tried below.
func TestEveryRouteHasADoor(t *testing.T) {
	h := newHouse(t)
	examples := h.examples()
	doors := map[string]front.Door{
		"address": front.Open, "management": front.Own, "git": front.Signed, "repository pages": front.Signed, "relay": front.Open, "relay pages": front.Signed,
	}
	routes := h.node.Front.Routes()
	if len(routes) != len(doors) {
		t.Errorf("%d routes, %d are known here", len(routes), len(doors))
	}
	for _, route := range routes {
		if len(examples[route.Name]) == 0 || route.Door == 0 || route.Door != doors[route.Name] {
			t.Errorf("route %q: door %d, %d examples", route.Name, route.Door, len(examples[route.Name]))
		}
		for _, q := range examples[route.Name] {
			method := map[bool]string{true: http.MethodPost, false: http.MethodGet}[route.Name == "management"]
			if got := h.taker(q, method); got != route.Name {
				t.Errorf("%s is taken by %q, not %q", q.path, got, route.Name)
			}
		}
	}
}

// TestAStrangerAtEveryDoor hears the same empty 401, whatever they ask for, in every method and with every header, and whatever is wrong
// with what they show. What is open tells nothing.
func TestAStrangerAtEveryDoor(t *testing.T) {
	h := newHouse(t)
	want := h.do(http.MethodGet, request{path: "/"})
	if want.Code != http.StatusUnauthorized || want.Body.Len() > 0 || want.Header().Get("WWW-Authenticate") != `Nostr method="GET"` {
		t.Fatalf("%d %v %s", want.Code, want.Header(), want.Body)
	}
	extras := [][]string{
		nil, {"Range", "bytes=0-10"}, {"If-None-Match", "*"}, {"If-Modified-Since", "Mon, 02 Jan 2006 15:04:05 GMT"}, {"Accept-Encoding", "gzip"},
		{"Origin", "https://client.example"}, {"Git-Protocol", "version=2"}, {"Content-Encoding", "gzip"}, {"X-HTTP-Method-Override", "OPTIONS"},
		{"X-Forwarded-For", "127.0.0.1"}, {"Cache-Control", "only-if-cached"}, {"Cookie", "a=b"}, {"Expect", "100-continue"},
	}
	for name, examples := range h.examples() {
		for _, q := range examples {
			wrong := h.wrong(q)
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "PROPFIND"} {
				open := slices.Contains([]string{"address", "relay"}, h.taker(q, method))
				for what, auth := range wrong {
					extras := extras
					if what != "nothing" && what != "a stranger" && what != "forged" {
						extras = extras[:1]
					}
					for _, extra := range extras {
						more := extra
						for _, a := range auth {
							more = append(slices.Clip(more), "Authorization", a)
						}
						w := h.do(method, q, more...)
						if open {
							h.tellsNothing(w)
							continue
						}
						if w.Code != want.Code || w.Body.Len() > 0 || !sameHeader(w.Header(), want.Header()) {
							t.Fatalf("%s: %s %s, %s, %v: %d %v %.100s", name, method, q.path, what, extra, w.Code, w.Header(), w.Body)
						}
					}
				}
			}
			if w := h.do(http.MethodOptions, q, "Origin", "https://client.example", "Access-Control-Request-Headers", "authorization"); w.Code != http.StatusNoContent ||
				!strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Authorization") {
				t.Errorf("OPTIONS %s: %d %v", q.path, w.Code, w.Header())
			}
		}
	}
}

func sameHeader(a, b http.Header) bool {
	for k, v := range a {
		if !slices.Equal(v, b[k]) {
			return false
		}
	}
	return len(a) == len(b)
}

// tellsNothing looks at what everybody may have.
func (h *house) tellsNothing(w *httptest.ResponseRecorder) {
	h.t.Helper()
	for _, secret := range []string{hidden, words, testkit.Key(member).PubKey().String(), nip19.Npub(testkit.Key(member).PubKey())} {
		if strings.Contains(w.Body.String(), secret) {
			h.t.Fatalf("%q is told: %s", secret, w.Body)
		}
	}
}

// TestEveryRefusalIsTheSameBytes, as they come over a connection, but for the time.
func TestEveryRefusalIsTheSameBytes(t *testing.T) {
	h := newHouse(t)
	var first string
	for name, examples := range h.examples() {
		if name == "address" || name == "relay" {
			continue
		}
		for _, q := range examples {
			for what, auth := range h.wrong(q) {
				var b strings.Builder
				b.WriteString("POST " + q.path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n")
				for k, v := range q.header {
					b.WriteString(k + ": " + v[0] + "\r\n")
				}
				for _, a := range auth {
					b.WriteString("Authorization: " + a + "\r\n")
				}
				if q.header.Get("Connection") != "" {
					continue
				}
				got := h.raw(b.String() + "\r\n0000")
				if first == "" {
					first = got
				}
				if got != first || !strings.HasPrefix(got, "HTTP/1.1 401 ") || !strings.HasSuffix(got, "\r\n\r\n") {
					t.Errorf("%s, %s:\n%s\nelsewhere:\n%s", q.path, what, got, first)
				}
			}
		}
	}
}

// raw sends a request and reads the answer, without its date.
func (h *house) raw(text string) string {
	h.t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		h.t.Fatal(err)
	}
	var out strings.Builder
	for r := bufio.NewReader(c); ; {
		line, err := r.ReadString('\n')
		if !strings.HasPrefix(line, "Date: ") {
			out.WriteString(line)
		}
		if err != nil {
			return out.String()
		}
	}
}

// TestAMemberAtEveryDoor gets what is there, or is told that it is not, and no cache that others use keeps it.
func TestAMemberAtEveryDoor(t *testing.T) {
	h := newHouse(t)
	for name, examples := range h.examples() {
		if name == "address" || name == "relay" || name == "management" {
			continue
		}
		for _, q := range examples {
			r := httptest.NewRequest(http.MethodGet, q.path, nil)
			good := h.signed(member, members.RootOf(h.node.Service(), r.URL), 0)
			for _, method := range []string{"GET", "HEAD", "POST", "PUT"} {
				w := h.do(method, q, "Authorization", good)
				shows := method == http.MethodGet && q.shows != ""
				if w.Code == http.StatusUnauthorized || shows && (w.Code != http.StatusOK || !strings.Contains(w.Body.String(), q.shows)) {
					t.Errorf("%s: %s %s: %d %.300s", name, method, q.path, w.Code, w.Body)
				}
				if head := w.Header(); !strings.HasPrefix(head.Get("Cache-Control"), "private, no-") || !strings.Contains(head.Get("Vary"), "Authorization") || len(head.Values("Vary")) != 1 {
					t.Errorf("%s: %s %s: %v", name, method, q.path, head)
				}
				tag := w.Header().Get("ETag")
				if tag == "" {
					continue
				}
				if w := h.do(method, q, "Authorization", good, "If-None-Match", tag); w.Code != http.StatusNotModified || !strings.HasPrefix(w.Header().Get("Cache-Control"), "private") {
					t.Errorf("%s %s again: %d %v", method, q.path, w.Code, w.Header())
				}
				if w := h.do(method, q, "If-None-Match", tag); w.Code != http.StatusUnauthorized {
					t.Errorf("%s %s: a stranger who knows its tag: %d", method, q.path, w.Code)
				}
			}
		}
	}
}

// TestWhatAPrivateServiceSaysOfItself is that it is one, and that everybody has to authenticate.
func TestWhatAPrivateServiceSaysOfItself(t *testing.T) {
	h := newHouse(t)
	w := h.do(http.MethodGet, request{path: "/", header: http.Header{"Accept": {nip11.ContentType}}})
	d, err := nip11.Parse(w.Body.Bytes())
	if err != nil || !d.Limitation.AuthRequired || !slices.Contains(d.SupportedGRASPs, "GRASP-08") || !slices.Contains(d.SupportedNIPs, 98) ||
		!strings.Contains(d.RepoAcceptanceCriteria, "Members alone") {
		t.Errorf("%+v, %v", d, err)
	}
	h.tellsNothing(w)
}

// TestWhoeverManagesIsNoMember, and manages nevertheless.
func TestWhoeverManagesIsNoMember(t *testing.T) {
	h := newHouse(t)
	const body = `{"method":"supportedmethods","params":[]}`
	auth, err := nip98.Sign(http.MethodPost, "https://"+private, []byte(body), time.Now(), func(e *nostr.Event) error {
		*e = *testkit.Sign(testkit.Key(manager), e.CreatedAt, e.Kind, e.Content, e.Tags...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/nostr+json+rpc"}, "Authorization": {auth}}
	out := httptest.NewRecorder()
	h.node.Front.Handler().ServeHTTP(out, r)
	if out.Code != http.StatusOK || !strings.Contains(out.Body.String(), "banpubkey") {
		t.Errorf("%d %s", out.Code, out.Body)
	}
}

package repopage_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

const (
	domain = "git.example.org"
	at     = 1_700_000_000
)

// world is the pages of a store, and what they are told of git.
type world struct {
	testing.TB
	store  *store.Store
	front  *front.Front
	rules  policy.Rules
	served map[nip34.Address]repopage.Repository
	broken error
	finds  *atomic.Int64
	peer   string // the address from which pages are asked for
}

func newWorld(t testing.TB, base string, more ...func(*repopage.Config)) *world {
	t.Helper()
	service, err := grasp.ParseService(domain + base)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, finds: new(atomic.Int64), peer: "198.51.100.7:1234", rules: policy.Rules{Service: service, Git: true}, served: map[nip34.Address]repopage.Repository{}}
	if w.store, err = store.Open(store.Options{Dir: "data", FS: vfs.NewMem(), Rules: w.rules.Fingerprint()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.front = front.New(front.Config{Rates: front.Rates{Requests: 5}})
	c := repopage.Config{
		Store: w.store, Service: service, Rules: func() policy.Rules { return w.rules },
		Find: func(of nip34.Address) (repopage.Repository, bool, error) {
			w.finds.Add(1)
			r, ok := w.served[of]
			return r, ok, w.broken
		},
	}
	for _, set := range more {
		set(&c)
	}
	w.front.Handle(repopage.New(c).Route())
	w.front.Handle(front.Route{Serve: func(w http.ResponseWriter, _ *http.Request, _ front.Client) {
		http.Error(w, "somebody else's", http.StatusTeapot)
	}})
	return w
}

func key(n byte) nostr.PubKey { return nostr.PubKey{1, n} }

func event(author byte, when int64, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: key(author), CreatedAt: when, Kind: kind, Content: content, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

func (w *world) put(events ...*nostr.Event) {
	w.Helper()
	b, err := w.store.Begin()
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range events {
		if out, err := b.Add(e, store.Direct); err != nil || out != policy.Accept {
			w.Fatalf("%v, %v", out, err)
		}
	}
	if _, err := b.Commit(); err != nil {
		w.Fatal(err)
	}
}

func address(author byte, d string) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: key(author), D: d}
}

func (w *world) announce(author byte, d string, tags ...nostr.Tag) *nostr.Event {
	return event(author, at, nip34.KindRepository, "", append([]nostr.Tag{
		{"d", d}, {"relays", "wss://" + domain}, {"clone", w.rules.Service.CloneURL(key(author), d)},
	}, tags...)...)
}

// serve has git be shown some refs: names and hex digits that ids are made of.
func (w *world) serve(of nip34.Address, generation uint64, head string, pairs ...string) {
	r := repopage.Repository{Dir: "d", Generation: generation, Refs: &gitwire.Refs{Head: head}}
	for i := 0; i < len(pairs); i += 2 {
		r.Refs.List = append(r.Refs.List, gitwire.Ref{Name: pairs[i], ID: id(pairs[i+1])})
	}
	r.Refs.Sort()
	w.served[of] = r
}

func id(digit string) gitwire.ObjectID {
	x, err := gitwire.ParseObjectID([]byte(strings.Repeat(digit, 40)))
	if err != nil {
		panic(err)
	}
	return x
}

func (w *world) ask(method, path, accept string) *httptest.ResponseRecorder {
	w.Helper()
	return w.askAs(context.Background(), method, path, accept)
}

func (w *world) askFrom(peer, method, path, accept string) *httptest.ResponseRecorder {
	x := *w
	x.peer = peer
	return x.ask(method, path, accept)
}

func (w *world) askAs(ctx context.Context, method, path, accept string) *httptest.ResponseRecorder {
	w.Helper()
	rec := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(ctx, method, "http://"+domain+path, nil)
	req.RemoteAddr = w.peer
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	w.front.Handler().ServeHTTP(rec, req)
	return rec
}

const browser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"

func pathOf(of nip34.Address) string {
	return "/" + nip19.Npub(of.PubKey) + "/" + grasp.Escape(of.D) + ".git"
}

func (w *world) page(of nip34.Address) string {
	w.Helper()
	rec := w.ask("GET", pathOf(of), browser)
	if rec.Code != http.StatusOK {
		w.Fatalf("%d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func has(t testing.TB, page string, all ...string) {
	t.Helper()
	for _, s := range all {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %s", s)
		}
	}
}

func lacks(t testing.TB, page string, all ...string) {
	t.Helper()
	for _, s := range all {
		if strings.Contains(page, s) {
			t.Errorf("the page has %s", s)
		}
	}
}

func TestTheWholePage(t *testing.T) {
	w := newWorld(t, "")
	of := address(1, "a b/ü")
	w.put(w.announce(1, of.D, nostr.Tag{"name", "<i>Tool</i>"}, nostr.Tag{"description", "turns\u202e words\nsecond line"},
		nostr.Tag{"web", "javascript:alert(1)", "https://tool.example/x", "https://gitworkshop.dev/" + nip19.Npub(key(1)) + "/git.example.org/a%20b%2F%C3%BC"}, nostr.Tag{"maintainers", key(2).String(), key(3).String()}),
		w.announce(2, of.D, nostr.Tag{"maintainers", key(1).String()}))
	w.serve(of, 1, "refs/heads/main", "refs/heads/main", "a", "refs/heads/<b>", "b", "refs/tags/v1", "c", "refs/nostr/"+strings.Repeat("d", 64), "d")
	w.served[of].Refs.List[3].Peeled = id("e")
	rec := w.ask("GET", pathOf(of), browser)
	page := rec.Body.String()
	if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
		!strings.HasPrefix(rec.Header().Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") || rec.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	npub := nip19.Npub(key(1))
	has(t, page, "<h1>&lt;i&gt;Tool&lt;/i&gt;</h1>", `turns\u202e words`+"\nsecond line", `Owner: <a href="/`+npub+`"><code>`+npub, `Maintainer: <a href="/`+nip19.Npub(key(2))+`"><code>`,
		"git clone https://git.example.org/"+npub+"/a%20b%2F%C3%BC.git</pre>", "git clone nostr://"+npub+"/git.example.org/a%20b%2F%C3%BC</pre>",
		`href="https://gitworkshop.dev/`+npub+`/git.example.org/a%20b%2F%C3%BC"`, `href="https://tool.example/x"`,
		`Branches <span class="dim">2</span>`, "HEAD is <code>main</code>.", "<td>main</td><td><code>aaaaaaaaaa</code>", "<td>&lt;b&gt;</td><td><code>bbbbbbbbbb</code>",
		`Tags <span class="dim">1</span>`, "<td>v1</td><td><code>eeeeeeeeee</code>", "Beside these 1 refs of pull requests", "None yet.")
	if n := strings.Count(page, `href="https://gitworkshop.dev/`); n != 1 {
		t.Errorf("the same web client %d times", n)
	}
	lacks(t, page, nip19.Npub(key(3)), "javascript:", "<script", "\u202e", "waiting for its git data", "No git data is here", "not there")
	if head := w.ask("HEAD", pathOf(of), browser); head.Code != http.StatusOK || head.Header().Get("Content-Length") != fmt.Sprint(len(page)) {
		t.Errorf("%d %v", head.Code, head.Header())
	}
}

// TestWhatWaitsIsNotShown: whoever waits has a page, with what its URL says and no more.
func TestWhatWaitsIsNotShown(t *testing.T) {
	w := newWorld(t, "")
	of := address(1, "tool")
	b, err := w.store.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := b.Wait(w.announce(1, "tool", nostr.Tag{"name", "secret"}, nostr.Tag{"maintainers", key(2).String()}), store.Wait{Came: at, Until: at + 1800}); err != nil || out != policy.Wait {
		t.Fatal(out, err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	w.served[of] = repopage.Repository{}
	page := w.page(of)
	has(t, page, "<h1>tool</h1>", "its git data is not here yet", "git clone https://", "Owner: ")
	lacks(t, page, "secret", "Maintainer", "Branches", "issues")

	stored := address(1, "old")
	w.put(w.announce(1, "old", nostr.Tag{"name", "shown"}))
	w.served[stored] = repopage.Repository{Refs: &gitwire.Refs{}}
	page = w.page(stored)
	has(t, page, "<h1>shown</h1>", "No git data is here yet", "issues")
	lacks(t, page, "Branches", "waiting")
}

func TestPathsAndErrors(t *testing.T) {
	w := newWorld(t, "/git")
	of := address(1, "tool")
	w.put(w.announce(1, "tool"))
	w.serve(of, 1, "refs/heads/gone")
	w.serve(address(3, "waits"), 1, "refs/heads/main")
	path := "/git" + pathOf(of)
	for _, c := range []struct {
		method, path, accept, says string
		code                       int
	}{
		{"GET", path, browser, "a branch that is not there", 200},
		{"GET", path, "*/*", "<h1>tool</h1>", 200},
		{"GET", path, "", "<h1>tool</h1>", 200},
		{"GET", path + "?x=1", browser, "<h1>tool</h1>", 200},
		{"GET", path, "application/nostr+json", "somebody else's", 418},
		{"POST", path, browser, "somebody else's", 418},
		{"GET", path + "/info/refs", browser, "somebody else's", 418},
		{"GET", path, "TEXT/HTML", "<h1>tool</h1>", 200},
		{"GET", path, "text/*;q=0.1", "<h1>tool</h1>", 200},
		{"GET", path, "text/html;q=0", "somebody else's", 418},
		{"GET", path, "*/*;q=0", "somebody else's", 418},
		{"GET", path, "image/png, text/html-like", "somebody else's", 418},
		{"GET", path + "/feed.atom", "application/rss+xml", "http://www.w3.org/2005/Atom", 200},
		{"GET", path + "/issues.atom", "application/xml;q=0.9", "http://www.w3.org/2005/Atom", 200},
		{"GET", path + "/x/feed.atom", "application/rss+xml", "somebody else's", 418},
		{"GET", path + "/issues", "application/rss+xml", "somebody else's", 418},
		{"GET", path + "/", "image/png", "somebody else's", 418},
		{"GET", path + "/info/", browser, "somebody else's", 418},
		{"GET", path + "/objects/info/packs", browser, "somebody else's", 418},
		{"GET", path + "/HEAD", browser, "somebody else's", 418},
		{"GET", path + "/archive/main.tar.gz", browser, "somebody else's", 418},
		{"GET", path + "/archive/main.zip", browser, "There is no such page here", 404},
		{"GET", path + "/archive/main.zip", "", "somebody else's", 418},
		{"GET", path + "/wiki", browser, `<li><a href="` + path + `">tool</a></li>`, 404},
		{"GET", "/git" + pathOf(address(2, "tool")) + "/wiki", browser, `<a href="/git/">All repositories`, 404},
		{"GET", "/git" + pathOf(address(3, "waits")) + "/wiki", browser, `<a href="/git/">All repositories`, 404},
		{"GET", path + "/x/y/z", browser, "There is no such page here", 404},
		{"GET", path + "/wiki", "*/*", "somebody else's", 418},
		{"GET", path + "/wiki", "text/html;q=0, */*", "somebody else's", 418},
		{"GET", pathOf(of), browser, "somebody else's", 418},
		{"GET", "/git/x", browser, "somebody else's", 418},
		{"GET", strings.TrimSuffix(path, ".git") + "/info/refs", browser, "somebody else's", 418},
		{"GET", strings.TrimSuffix(path, ".git"), "image/png", "somebody else's", 418},
		{"GET", "/git" + pathOf(address(1, "<b>")), browser, "There is no such repository here", 404},
		{"GET", "/git" + pathOf(address(2, "tool")), browser, "There is no such repository here", 404},
		{"GET", "/git/npub1xyz/tool.git", browser, "This is not the URL of a repository", 400},
		{"GET", "/git/" + nip19.Npub(key(1)) + "/.git", browser, "This is not the URL of a repository", 400},
	} {
		rec := w.ask(c.method, c.path, c.accept)
		if rec.Code != c.code || !strings.Contains(rec.Body.String(), c.says) {
			t.Errorf("%s %s (%s): %d %s", c.method, c.path, c.accept, rec.Code, rec.Body)
		}
		if c.code != 418 && rec.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: no policy", c.path)
		}
	}
	for typed, right := range map[string]string{
		strings.TrimSuffix(path, ".git"): path, path + "/": path, "/" + path: path, "///git//" + path[5:] + "///": path, path + "//issues/?status=open": path + "/issues?status=open", path + "/feed.atom/": path + "/feed.atom",
	} {
		if rec := w.ask("GET", typed, browser); rec.Code != http.StatusMovedPermanently || rec.Header().Get("Location") != right {
			t.Errorf("%s: %d to %q, not %q", typed, rec.Code, rec.Header().Get("Location"), right)
		}
	}
	w.broken = errors.New("secret of the disk")
	if rec := w.ask("GET", path, browser); rec.Code != 500 || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestManyRefs(t *testing.T) {
	w := newWorld(t, "")
	of := address(1, "tool")
	w.put(w.announce(1, "tool"))
	var pairs []string
	for i := range 5000 {
		pairs = append(pairs, fmt.Sprintf("refs/heads/b%04d", i), "a", fmt.Sprintf("refs/tags/t%04d", i), "b")
	}
	w.serve(of, 1, "", pairs...)
	page := w.page(of)
	has(t, page, "<td>b0199</td>", "<td>t0199</td>", "The first 200 of 5000.", `<span class="dim">5000</span>`)
	lacks(t, page, "<td>b0200</td>", "<td>t0200</td>", "HEAD is")
	if len(page) > 100_000 {
		t.Errorf("%d bytes", len(page))
	}
}

// TestPagesAreKept: for ten seconds, but never with other refs than there are.
func TestPagesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		of := address(1, "tool")
		w.put(w.announce(1, "tool", nostr.Tag{"name", "before"}))
		w.serve(of, 1, "", "refs/heads/one", "a")
		has(t, w.page(of), "before", "<td>one</td>")
		newer := w.announce(1, "tool", nostr.Tag{"name", "after"})
		newer.CreatedAt++
		newer.ID = newer.ComputeID()
		w.put(newer)
		time.Sleep(10*time.Second - 1)
		has(t, w.page(of), "<h1>before</h1>")
		time.Sleep(time.Nanosecond)
		has(t, w.page(of), "<h1>after</h1>", "<td>one</td>")
		w.serve(of, 2, "", "refs/heads/two", "a")
		has(t, w.page(of), "<td>two</td>")
		delete(w.served, of)
		if rec := w.ask("GET", pathOf(of), browser); rec.Code != http.StatusNotFound {
			t.Errorf("a repository that has gone: %d", rec.Code)
		}
	})
}

// TestWhoAsksOften: is told to wait before anything is looked up.
// TestPagesAreMadeInFairTurns: while one address has many pages made, another one waits for the page that is being made, and not for the others.
// Of one address only so many wait.
func TestPagesAreMadeInFairTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		w := newWorld(t, "", func(c *repopage.Config) {
			rules := c.Rules
			c.Rules = func() policy.Rules { time.Sleep(time.Second); return rules() } // so that a page takes a second
		})
		of, _ := tool(w)
		codes := map[int]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				rec := w.ask("GET", pathOf(of)+"/issues", browser)
				mu.Lock()
				codes[rec.Code]++
				mu.Unlock()
			})
		}
		time.Sleep(1500 * time.Millisecond)
		begun := time.Now()
		if rec := w.askFrom("203.0.113.9:1", "GET", pathOf(of)+"/pulls", browser); rec.Code != http.StatusOK || time.Since(begun) > 2*time.Second {
			t.Errorf("%d after %v", rec.Code, time.Since(begun))
		}
		if all.Wait(); codes[200] != 17 || codes[503] != 13 {
			t.Errorf("%v", codes)
		}
	})
}

func TestWhoAsksOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		of := address(1, "tool")
		w.put(w.announce(1, "tool"))
		w.serve(of, 1, "")
		code, n := 200, 0
		for ; code == 200 && n < 200; n++ {
			code = w.ask("GET", pathOf(of), browser).Code
		}
		if code != http.StatusTooManyRequests || n < 30 || w.finds.Load() != int64(n-1) {
			t.Errorf("%d after %d requests, %d looked up", code, n, w.finds.Load())
		}
		if rec := w.ask("GET", pathOf(of), browser); rec.Header().Get("Retry-After") == "" || rec.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%v", rec.Header())
		}
	})
}

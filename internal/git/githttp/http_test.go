package githttp_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
	"github.com/graspd/graspd/internal/serve/front"
)

// TestPaths: what is answered and how, by path and method; the page of a repository is for others.
func TestPaths(t *testing.T) {
	w := open(t, settings{})
	w.serve("r", emptyRepository(t))
	at := "http://" + w.addr
	npub := strings.Split(path("r"), "/")[1]
	const ask = "/info/refs?service=git-upload-pack"
	for _, c := range []struct {
		method, url string
		status      int
		text        string
	}{
		{"GET", w.url + ask, 200, ""},
		{"HEAD", w.url + ask, 200, ""},
		{"OPTIONS", w.url + ask, 204, ""},
		{"GET", w.url + "/info/refs?service=git-receive-pack", 200, ""},
		{"GET", w.url, 418, ""},
		{"GET", w.url + "/", 418, ""},
		{"GET", at + "/", 418, ""},
		{"GET", at + "/info/refs", 418, ""},
		{"GET", at + path("unknown") + ask, 404, "404 there is no such repository here"},
		{"POST", at + path("unknown") + "/git-upload-pack", 404, "no such repository"},
		{"GET", at + path("unknown") + "/info/refs?service=git-receive-pack", 404, "the start page of this server has the commands (ngit init, then git push)"},
		{"GET", at + "/npub1xyz/r.git" + ask, 400, "400 "},
		{"GET", at + "/" + strings.ToUpper(npub) + "/r.git" + ask, 400, "400 "},
		{"GET", at + "/" + npub + "/.git" + ask, 400, "400 "},
		{"GET", at + "/" + npub + "/a%2Fb.git" + ask, 404, ""},
		{"GET", at + "/" + npub + "/" + strings.Repeat("a", 10000) + ".git" + ask, 400, "longer than"},
		{"GET", w.url + "/info/refs", 403, "403 only the smart HTTP protocol is spoken here"},
		{"GET", w.url + "/info/refs?service=git-upload-archive", 403, "smart"},
		{"GET", w.url + "/HEAD", 403, "smart"},
		{"GET", w.url + "/objects/info/packs", 403, "smart"},
		{"POST", w.url + ask, 405, "405 this is asked for with GET or HEAD"},
		{"GET", w.url + "/git-upload-pack", 405, "405 this is asked for with POST"},
		{"PUT", w.url + "/git-receive-pack", 405, "POST"},
		{"POST", w.url + "/git-upload-pack", 415, "415 the content type of this request is application/x-git-upload-pack-request"},
		{"POST", w.url + "/git-receive-pack", 415, "application/x-git-receive-pack-request"},
		{"GET", at + path("fault") + ask, 500, "500 this server has a fault"},
	} {
		got := w.askURL(t, c.method, c.url, "")
		if got.status != c.status || !strings.Contains(got.body, c.text) {
			t.Errorf("%s %s: %+v", c.method, c.url, got)
		}
		if origin := got.head.Get("Access-Control-Allow-Origin"); origin != "*" {
			t.Errorf("%s %s: no CORS: %v", c.method, c.url, got.head)
		}
		if c.status == 405 && got.head.Get("Allow") != map[bool]string{true: "GET, HEAD, OPTIONS", false: "POST, OPTIONS"}[c.method == "POST"] {
			t.Errorf("%s %s: %v", c.method, c.url, got.head)
		}
		if strings.HasSuffix(c.url, "git-upload-archive") && got.head.Get("Access-Control-Expose-Headers") != "WWW-Authenticate" {
			t.Errorf("exposed: %v", got.head)
		}
	}
	head, get := w.ask(t, "HEAD", ask, ""), w.ask(t, "GET", ask, "")
	if n := len(get.head); n > 9 { // with Date, which net/http keeps elsewhere
		t.Errorf("%d fields, whose map takes three times the memory of one of eight: %v", n, get.head)
	}
	if head.body != "" || head.head.Get("Content-Length") != fmt.Sprint(len(get.body)) || head.head.Get("Content-Type") != get.head.Get("Content-Type") {
		t.Errorf("HEAD: %+v", head)
	}
}

// TestABaseBelowWhichAllIs: a service that has a path answers there alone.
func TestABaseBelowWhichAllIs(t *testing.T) {
	w := open(t, settings{Config: githttp.Config{Base: "/some%20where/"}})
	w.url = "http://" + w.addr + "/some%20where" + path("r")
	w.serve("r", emptyRepository(t))
	if got := w.ask(t, "GET", "/info/refs?service=git-upload-pack", ""); got.status != 200 {
		t.Errorf("%+v", got)
	}
	if got := w.askURL(t, "GET", "http://"+w.addr+path("r")+"/info/refs?service=git-upload-pack", ""); got.status != 418 {
		t.Errorf("%+v", got)
	}
}

// TestAnyIdentifier: identifiers of any form are repositories of their own, decoded once.
func TestAnyIdentifier(t *testing.T) {
	w := open(t, settings{})
	for id, escaped := range map[string]string{
		"a/b": "a%2Fb", "a:b": "a:b", "a b": "a%20b", "é…": "%C3%A9%E2%80%A6", "%2F": "%252F", "x.git": "x.git",
		"..": "..", strings.Repeat("long", 200): strings.Repeat("long", 200),
	} {
		w.serve(id, emptyRepository(t))
		git(t, t.TempDir(), "", "clone", "-q", "http://"+w.addr+path(escaped), "x")
	}
	w.serve("\n\x00", "")
	if got := w.askURL(t, "GET", "http://"+w.addr+path("%0A%00")+"/info/refs?service=git-upload-pack", ""); got.status != 200 {
		t.Errorf("%+v", got)
	}
}

// TestProbes: an empty request, by which git learns whether it may post, has an empty answer.
func TestProbes(t *testing.T) {
	w := open(t, settings{})
	w.serve("r", emptyRepository(t))
	for _, service := range []string{"upload-pack", "receive-pack"} {
		for _, body := range []string{"0000", ""} {
			for version := range 3 {
				got := w.post(t, service, body, "Git-Protocol", fmt.Sprint("version=", version))
				if got.status != 200 || got.body != "" || got.head.Get("Content-Type") != "application/x-git-"+service+"-result" {
					t.Errorf("%s, %q: %+v", service, body, got)
				}
			}
		}
	}
	if took := w.took(); took != "" {
		t.Errorf("it took %s", took)
	}
}

func zipped(t testing.TB, body []byte) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBodies: compressed ones are read as what they are, within the bounds of what is not compressed.
func TestBodies(t *testing.T) {
	w := open(t, settings{})
	dir := emptyRepository(t)
	history(t, dir, 2, 10)
	w.serve("r", dir)
	request := gitwire.Request{Version: 2, LsRefs: &gitwire.LsRefs{}}.AppendTo(nil)
	want := w.post(t, "upload-pack", string(request), "Git-Protocol", "version=2").body
	good := zipped(t, request)
	bomb := []byte(frame("command=ls-refs\n") + "0001" + strings.Repeat(frame("ref-prefix "+strings.Repeat("a", 1000)), 20_000))
	for _, c := range []struct {
		what, encoding, body string
		status               int
		text                 string
	}{
		{"compressed", "gzip", good, 200, want},
		{"compressed, as it was called once", "X-GZIP", good, 200, want},
		{"as it is, and says so", "identity", string(request), 200, want},
		{"of another sort", "deflate", good, 415, "gzip"},
		{"not what it says", "gzip", string(request), 400, "cannot be read"},
		{"compressed, with a wrong sum", "gzip", good[:len(good)-8] + "12345678", 400, "cannot be read"},
		{"compressed, with more behind", "gzip", zipped(t, append(request, make([]byte, 1<<20)...)), 400, "more follows"},
		{"a bomb", "gzip", zipped(t, bomb), 413, "too large"},
		{"large", "", string(bomb), 413, "too large"},
		{"nonsense", "", "zzzz", 200, "ERR "},
		{"a command that is not known", "", frame("command=x\n") + "0000", 200, "ERR invalid command 'x'"},
	} {
		got := w.post(t, "upload-pack", c.body, "Git-Protocol", "version=2", "Content-Encoding", c.encoding)
		if got.status != c.status || !strings.Contains(got.body, c.text) {
			t.Errorf("%s: %d %.200q", c.what, got.status, got.body)
		}
	}
}

func frame(line string) string { return string(pktline.Append(nil, line)) }

// TestRefusalsOfFetchesAreRead: git shows them, whichever form the client has asked for.
func TestRefusalsOfFetchesAreRead(t *testing.T) {
	w := open(t, settings{})
	dir := emptyRepository(t)
	history(t, dir, 2, 10)
	w.serve("r", dir)
	w.serve("waiting", "")
	nobodys := mustID(t, strings.Repeat("9", 40))
	const text = "upload-pack: not our ref 9999999999999999999999999999999999999999"
	for _, all := range []bool{false, true} {
		want := frame("ERR " + text)
		if all { // in band 3, as all else is
			want = frame("\x03"+text) + "0000"
		}
		q := gitwire.Request{Version: 2, Fetch: &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{nobodys}, Done: true, SidebandAll: all}}
		for _, url := range []string{w.url, "http://" + w.addr + path("waiting")} {
			got := w.askURL(t, "POST", url+"/git-upload-pack", string(q.AppendTo(nil)), "Git-Protocol", "version=2", "Content-Type", "application/x-git-upload-pack-request")
			if got.status != 200 || got.body != want {
				t.Errorf("%+v, not %q", got, want)
			}
		}
	}
	q := gitwire.Request{Version: 2, Fetch: &gitwire.Fetch{Version: 2, WantRefs: []string{"refs/heads/none"}, Done: true}}
	if got := w.post(t, "upload-pack", string(q.AppendTo(nil)), "Git-Protocol", "version=2"); got.body != frame("ERR unknown ref refs/heads/none") {
		t.Errorf("%+v", got)
	}
	tip := refsOf(t, dir).List[0].ID
	q = gitwire.Request{Version: 2, Fetch: &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{tip}, DeepenNot: []string{"refs/heads/none"}, Done: true}}
	if got := w.post(t, "upload-pack", string(q.AppendTo(nil)), "Git-Protocol", "version=2"); !strings.Contains(got.body, "ERR git upload-pack: ambiguous deepen-not") || strings.Contains(got.body, dir) {
		t.Errorf("%+v", got)
	}
	git(t, dir, "", "update-ref", "refs/heads/gone", "refs/heads/trunk~1")
	old := mustID(t, git(t, dir, "", "commit-tree", "-m", "nobody's", "refs/heads/trunk^{tree}")) // is here, and no ref leads to it
	for version := range 2 {
		f := &gitwire.Fetch{Version: gitwire.Version(version), Wants: []gitwire.ObjectID{old}, Done: true, Sideband: pktline.Sideband64kFrame}
		got := w.post(t, "upload-pack", string(gitwire.Request{Version: f.Version, Fetch: f}.AppendTo(nil)), "Git-Protocol", fmt.Sprint("version=", version))
		if !strings.Contains(got.body, "ERR upload-pack: not our ref "+old.String()) {
			t.Errorf("version %d: %+v", version, got)
		}
	}
	if got := w.answers(); got != "upload-pack 0 refused 1, upload-pack 1 refused 1, upload-pack 2 refused 6" {
		t.Errorf("counted %s", got)
	}
}

// TestWhatIsLostIsSaid: where refs are shown whose objects are gone from the disk, git tells people so.
func TestWhatIsLostIsSaid(t *testing.T) {
	w := open(t, settings{})
	dir := emptyRepository(t)
	history(t, dir, 1, 10)
	w.serve("r", dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	w.serve("waiting", emptyRepository(t))
	w.repos["r"].dir = w.repos["waiting"].dir
	tip := w.repos["r"].refs.List[0].ID
	for version := range 3 {
		f := &gitwire.Fetch{Version: gitwire.Version(version), Wants: []gitwire.ObjectID{tip}, Done: true, Sideband: pktline.Sideband64kFrame}
		got := w.post(t, "upload-pack", string(gitwire.Request{Version: f.Version, Fetch: f}.AppendTo(nil)), "Git-Protocol", fmt.Sprint("version=", version))
		if want := "ERR upload-pack: not our ref " + tip.String() + ": it has been lost here"; got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("version %d: %+v", version, got)
		}
	}
}

// TestObjectInfo asks for sizes.
func TestObjectInfo(t *testing.T) {
	w := open(t, settings{})
	dir := emptyRepository(t)
	history(t, dir, 1, 77)
	w.serve("r", dir)
	w.serve("waiting", "")
	blob := mustID(t, git(t, dir, "", "rev-parse", "trunk:f0"))
	info := &gitwire.ObjectInfo{Size: true, IDs: []gitwire.ObjectID{blob, mustID(t, strings.Repeat("9", 40))}}
	body := string(gitwire.Request{Version: 2, ObjectInfo: info}.AppendTo(nil))
	for id, sizes := range map[string][]int64{"r": {77, -1}, "waiting": {-1, -1}} {
		got := w.askURL(t, "POST", "http://"+w.addr+path(id)+"/git-upload-pack", body, "Git-Protocol", "version=2", "Content-Type", "application/x-git-upload-pack-request")
		if want := string(info.AppendAnswer(nil, sizes)); got.body != want {
			t.Errorf("%s: %+v, not %q", id, got, want)
		}
	}
	if took := w.took(); took != "settled:1 sizes" {
		t.Errorf("it took %s", took)
	}
}

// TestManyPullRequests: those who get all refs get some of these; those who ask for them get all.
func TestManyPullRequests(t *testing.T) {
	w := open(t, settings{})
	dir := emptyRepository(t)
	history(t, dir, 1, 10)
	w.serve("r", dir)
	refs := refsOf(t, dir)
	tip := refs.List[0].ID
	for i := range 1500 {
		refs.List = append(refs.List, gitwire.Ref{Name: fmt.Sprintf("refs/nostr/%064x", i), ID: tip})
	}
	refs.Sort()
	w.repos["r"].refs = refs
	newest := &gitwire.Refs{Head: refs.Head}
	for i, r := range refs.List {
		if !strings.HasPrefix(r.Name, "refs/nostr/") || i%3 > 0 {
			newest.List = append(newest.List, r)
		}
	}
	w.repos["r"].newest = newest
	for _, service := range []string{"upload-pack", "receive-pack"} {
		got := w.ask(t, "GET", "/info/refs?service=git-"+service, "").body
		if n := strings.Count(got, "refs/nostr/"); n != 1000 || !strings.Contains(got, " refs/heads/trunk") || !strings.Contains(got, " refs/tags/v1") {
			t.Errorf("%s: %d of them", service, n)
		}
	}
	q := gitwire.Request{Version: 2, LsRefs: &gitwire.LsRefs{Prefixes: []string{"refs/nostr/"}}}
	if got := w.post(t, "upload-pack", string(q.AppendTo(nil)), "Git-Protocol", "version=2").body; strings.Count(got, "refs/nostr/") != 1500 {
		t.Errorf("%d of them", strings.Count(got, "refs/nostr/"))
	}
}

// TestManyRequests: an address that asks too often is told to wait, and how long.
func TestManyRequests(t *testing.T) {
	w := begin(t, settings{front: front.Config{Rates: front.Rates{Requests: 1}}})
	w.serve("r", "")
	refused := 0
	for range 12 {
		got := w.direct(t, "GET", path("r")+"/info/refs?service=git-upload-pack", "198.51.100.1")
		if got.status == http.StatusTooManyRequests {
			refused++
			if got.head.Get("Retry-After") != "1" || !strings.Contains(got.body, "too many requests") {
				t.Errorf("%+v", got)
			}
		}
	}
	if got := w.direct(t, "GET", path("r")+"/info/refs?service=git-upload-pack", "198.51.100.2"); refused < 1 || refused > 2 || got.status != 200 {
		t.Errorf("%d refused, another one: %+v", refused, got)
	}
}

// TestLargeRequestsAtOnce: an address has but so much memory for what it asks.
func TestLargeRequestsAtOnce(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		body := frame("command=ls-refs\n") + "0001" + strings.Repeat(frame("ref-prefix "+strings.Repeat("a", 4000)), 1000)
		ask := func(from string) *client {
			c := w.begin(t, from, "upload-pack", "", len(body)+4, "Git-Protocol", "version=2")
			go c.Write([]byte(body)) // as far as it is read
			synctest.Wait()
			return c
		}
		var all []*client
		for range 16 {
			all = append(all, ask(stranger))
		}
		if got := ask(stranger).all(); got != "429 too many requests at once from your address: try again later\n" {
			t.Errorf("%.100q", got)
		}
		all = append(all, ask(another))
		for _, c := range all {
			c.send("0000")
			if got := c.all(); got != "0000" {
				t.Errorf("%.100q", got)
			}
		}
	})
}

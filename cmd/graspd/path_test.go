package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// under is a web server that passes on what stands at and below a path, as it is, and has something else everywhere else.
func under(t *testing.T, path string) (host string, to *atomic.Pointer[url.URL]) {
	t.Helper()
	to = new(atomic.Pointer[url.URL])
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to.Load()); r.Out.Host = r.In.Host }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path && !strings.HasPrefix(r.URL.Path, path+"/") {
			http.Error(w, "another site", http.StatusTeapot)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), to
}

// get asks for a URL with an Accept header.
func get(t *testing.T, at, accept string) (code int, location, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := w.Body.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Location"), w.Body.String()
}

// TestAServiceBelowAPath: with --domain host/path everything stands below the path, behind a proxy that keeps it, and every link stays there.
func TestAServiceBelowAPath(t *testing.T) {
	t.Parallel()
	const browser = "text/html,*/*;q=0.8"
	host, to := under(t, "/a/git")
	service, err := grasp.ParseService(host + "/a/git")
	if err != nil {
		t.Fatal(err)
	}
	boss, owner := testkit.Key(3), testkit.Key(1)
	us := serve(t, "--git", "--data", t.TempDir(), "--sync=false", "--domain", host+"/a/git", "--contributors", "--admin-pubkeys", nip19.Npub(boss.PubKey()))
	inner, err := url.Parse("http://" + us.out.await(t, `listens on ws://([^/\s]+)`))
	if err != nil {
		t.Fatal(err)
	}
	to.Store(inner)
	home := "http://" + host + "/a/git"

	c := dial(t, service.RelayURL())
	now := time.Now().Unix()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	clone := service.CloneURL(owner.PubKey(), "tool")
	issue := testkit.Sign(owner, now, nip34.KindIssue, "an issue", nostr.Tag{"a", "30617:" + owner.PubKey().String() + ":tool"}, nostr.Tag{"subject", "it breaks"})
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", clone}, nostr.Tag{"relays", string(service.RelayURL())}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, dir, "push", "-q", clone, "main")
	c.publish(issue)
	if got := git(t, dir, "ls-remote", clone, "main"); !strings.HasPrefix(got, tip) {
		t.Errorf("%q", got)
	}

	for _, at := range []string{home, home + "/"} {
		var d nip11.Document
		if code, _, body := get(t, at, nip11.ContentType); code != http.StatusOK || json.Unmarshal([]byte(body), &d) != nil || len(d.SupportedGRASPs) == 0 {
			t.Errorf("%s: %d %s", at, code, body)
		}
		code, body := managed(t, at, boss, `{"method":"supportedmethods","params":[]}`)
		if code != http.StatusOK || !strings.Contains(body, "banpubkey") {
			t.Errorf("management at %s: %d %s", at, code, body)
		}
	}
	note := nip19.Note(issue.ID)
	repo := "/" + nip19.Npub(owner.PubKey()) + "/tool.git"
	for path, says := range map[string]string{
		"": "tool", "/": "tool", "//": "tool", "/?q=tool": "tool", "/feed.atom": "<title>tool</title>", "/robots.txt": "Disallow: /a/git/operator/", "/.well-known/nostr.json?name=_": `"names"`,
		"/.well-known/graspd/address": "127.0.0.1", repo: "Branches", repo + "/issues": "it breaks", repo + "/issues/" + note: "an issue", repo + "/feed.atom": "it breaks", "/operator/page.css": "{",
	} {
		code, _, body := get(t, home+path, browser)
		if code != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: %d, without %q", path, code, says)
		}
		for _, attr := range []string{`href="/`, `action="/`, `src="/`} {
			for _, link := range strings.Split(body, attr)[1:] {
				if !strings.HasPrefix(link, "a/git/") {
					t.Errorf("%s leads to /%.60s", path, link)
				}
			}
		}
	}
	for path, to := range map[string]string{"/" + note: "/a/git" + repo + "/issues/" + note, "/operator": "/a/git/operator/", repo + "/": "/a/git" + repo} {
		if code, location, _ := get(t, home+path, browser); code/100 != 3 || location != to {
			t.Errorf("%s: %d to %q", path, code, location)
		}
	}
	if code, _, body := get(t, home+"/operator/", browser); code != http.StatusUnauthorized || !strings.Contains(body, "Sign in") {
		t.Errorf("%d %s", code, body)
	}
	if code, _, body := get(t, home+"/prs"+repo, browser); code != http.StatusNotFound || !strings.Contains(body, "Nothing has been contributed here yet") {
		t.Errorf("a contributor's place: %d %s", code, body)
	}
	if code, _, _ := get(t, home+"/nothing", browser); code != http.StatusNotFound {
		t.Errorf("what there is not: %d", code)
	}

	code, out, errs := call(t, "", nil, "doctor", "--git", "--domain", service.String(), "--data", t.TempDir(), "--disk-floor", "0", home)
	if code != exitOK || strings.Contains(out, "FAIL") || !strings.Contains(out, "ok    announcement") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

package githttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestContributedPaths: every well-formed path below /prs is a repository, which costs no process while it is empty; where it is off none is.
func TestContributedPaths(t *testing.T) {
	w := open(t, settings{Config: githttp.Config{Contributors: true, Base: "/git"}})
	w.prs = true
	dir := emptyRepository(t)
	history(t, dir, 2, 100)
	w.serve("prs/r", dir)
	w.serve("r", "") // the announced one is another
	at := "http://" + w.addr + "/git"
	stranger := "/" + nip19.Npub(nostr.PubKey{9}) + "/"
	const ask = "/info/refs?service=git-upload-pack"
	for _, c := range []struct {
		method, url string
		status      int
	}{
		{"GET", at + "/prs" + path("r") + ask, 200},
		{"HEAD", at + "/prs" + path("r") + ask, 200},
		{"OPTIONS", at + "/prs" + path("r") + ask, 204},
		{"GET", at + "/prs" + stranger + "any%2Fname%20at%3Aall.git" + ask, 200},
		{"GET", at + "/prs" + stranger + "x.git/info/refs?service=git-receive-pack", 200},
		{"GET", at + "/prs/npub1xyz/r.git" + ask, 400},
		{"GET", at + "/prs" + stranger + ".git" + ask, 400},
		{"GET", at + "/prs" + stranger + "r" + ask, 418},
		{"GET", at + "/prs" + stranger + "r.git", 418},
		{"GET", at + "/prs" + stranger + "r.git/HEAD", 403},
		{"GET", at + "/prs/prs" + stranger + "r.git" + ask, 418},
		{"GET", at + "/PRS" + stranger + "r.git" + ask, 418},
		{"GET", "http://" + w.addr + "/prs" + path("r") + ask, 418},
		{"POST", at + "/prs" + stranger + "x.git" + ask, 405},
	} {
		got := w.askURL(t, c.method, c.url, "")
		if got.status != c.status {
			t.Errorf("%s %s: %+v", c.method, c.url, got)
		}
		if origin := got.head.Get("Access-Control-Allow-Origin"); origin != "*" {
			t.Errorf("%s %s: no CORS: %v", c.method, c.url, got.head)
		}
	}
	empty := at + "/prs" + stranger + "x.git"
	for _, version := range []string{"0", "1", "2"} {
		if out := git(t, t.TempDir(), "", "-c", "protocol.version="+version, "ls-remote", empty); out != "" {
			t.Errorf("version %s of an empty one: %q", version, out)
		}
	}
	v0 := w.askURL(t, "GET", empty+ask, "")
	for _, capability := range []string{"allow-tip-sha1-in-want", "allow-reachable-sha1-in-want", "filter"} {
		if !strings.Contains(v0.body, capability) {
			t.Errorf("an empty one lacks %s: %q", capability, v0.body)
		}
	}
	if took := w.took(); took != "" {
		t.Errorf("an empty one took %s", took)
	}
	git(t, t.TempDir(), "", "clone", "-q", at+"/prs"+path("r"), "x")
	if out := git(t, t.TempDir(), "", "ls-remote", at+path("r")); out != "" {
		t.Errorf("the announced one shows %q", out)
	}
	off := open(t, settings{})
	off.prs = true
	for _, url := range []string{path("r") + ask, stranger + "x.git/git-receive-pack", stranger + "x.git"} {
		if got := off.askURL(t, "GET", "http://"+off.addr+"/prs"+url, ""); got.status != http.StatusTeapot {
			t.Errorf("where it is off, /prs%s is answered: %+v", url, got)
		}
	}
}

// TestPushesOfContributors are judged for the place of the signer in the path, and what is said of each ref is shown.
func TestPushesOfContributors(t *testing.T) {
	w := open(t, settings{Config: githttp.Config{Contributors: true}})
	w.prs = true
	var got []nip34.Address
	w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
		got = append(got, p.Of)
		return githttp.PushResult{Outcomes: p.Push.RefuseAll("not here, friend")}
	})
	dir := worktree(t, 100)
	url := "http://" + w.addr + "/prs" + path("a%20b")
	ref := "refs/nostr/" + strings.Repeat("ab", 32)
	out, errs, err := tryGit(dir, "", "push", url, "HEAD:"+ref)
	if err == nil || !strings.Contains(out+errs, "not here, friend") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
	if want := grasp.Contributed(owner, "a b"); fmt.Sprint(got) != fmt.Sprint([]nip34.Address{want}) {
		t.Errorf("judged for %v, want %v", got, want)
	}
}

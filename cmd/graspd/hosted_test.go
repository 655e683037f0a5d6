package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// hostedRepository is a repository with a commit on a running relay.
type hostedRepository struct {
	us       *running
	base     string // of the private listener
	data     string
	url, tip string
	dir      string // of a clone
}

func hostOne(t *testing.T) hostedRepository {
	t.Helper()
	h := hostedRepository{data: t.TempDir(), dir: t.TempDir()}
	h.us = serve(t, "--git", "--data", h.data, "--sync=false", "--listen", freeAddress(t), "--admin-listen", "127.0.0.1:0")
	h.base = h.us.out.await(t, `at (http://\S+)/status.json\n`)
	service, err := grasp.ParseService(strings.TrimPrefix(string(h.us.url), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	now, owner := time.Now().Unix(), testkit.Key(1)
	h.url = service.CloneURL(owner.PubKey(), "tool")
	git(t, h.dir, "init", "-q", "-b", "main")
	h.tip = commitIn(t, h.dir, "one")
	c := dial(t, h.us.url)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"name", "a tool"},
		nostr.Tag{"clone", h.url}, nostr.Tag{"relays", string(h.us.url)}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", h.tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, h.dir, "push", h.url, "main")
	return h
}

func read(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestHostingIsSeen: in the status, on the page and in the figures; and where nothing is hosted, nowhere.
func TestHostingIsSeen(t *testing.T) {
	h := hostOne(t)
	if out, err := gitIn(t, h.dir, "push", h.url, "main:refs/notes/x"); err == nil {
		t.Errorf("not refused: %s", out)
	}
	var s admin.Status
	if err := json.Unmarshal([]byte(read(t, h.base+"/status.json")), &s); err != nil {
		t.Fatal(err)
	}
	if s.Git == nil || s.Git.Repositories != 1 || s.Git.Bytes <= 0 || len(s.Git.Processes) != 3 || s.Git.Processes[1].Ended == 0 || len(s.Git.Refused) != 1 {
		t.Errorf("%+v", s.Git)
	}
	metrics := read(t, h.base+"/metrics")
	for _, line := range []string{
		`graspd_git_repositories 1`, `graspd_git_pushes_total{outcome="ok"} 1`, `graspd_git_pushes_total{outcome="refused"} 1`,
		`graspd_git_refused_refs_total{cause="namespace"} 1`, `graspd_git_released_events_total 2`, `graspd_git_processes_running{kind="fetch"} 0`,
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	code, out, errs := call(t, "", nil, "status", "--admin", h.base)
	if code != exitOK || !strings.Contains(out, "git: 1 repository with data, ") || !strings.Contains(out, "REFUSED PUSH") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	bare := serve(t, "--data", t.TempDir(), "--sync=false", "--git=false", "--admin-listen", "127.0.0.1:0")
	base := bare.out.await(t, `at (http://\S+)/status.json\n`)
	if code, out, errs := call(t, "", nil, "status", "--admin", base); code != exitOK || strings.Contains(strings.ReplaceAll(out, "--git=false", ""), "git") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if all := read(t, base+"/metrics") + read(t, base+"/status.json"); strings.Contains(all, "graspd_git_") || strings.Contains(all, `"git"`) {
		t.Error("hosting is told of without it")
	}
}

// TestTheURLOfARepositoryIsAPage: for a browser, before its data came and after, and nothing of it where nothing is hosted.
func TestTheURLOfARepositoryIsAPage(t *testing.T) {
	h := hostOne(t)
	page := read(t, h.url)
	for _, s := range []string{"<h1>a tool</h1>", "git clone " + h.url, "git clone nostr://npub1", ">main</a></td><td><code>" + h.tip[:10], "HEAD is <code>main</code>",
		`</code> <time class="dim">` + git(t, h.dir, "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d") + "</time>", "<h2>README</h2>", ">one</pre>"} {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %s:\n%s", s, page)
		}
	}
	if code := statusOf(t, http.MethodGet, strings.Replace(h.url, "tool.git", "other.git", 1)); code != http.StatusNotFound {
		t.Errorf("where there is nothing: %d", code)
	}
	owner, now := testkit.Key(1), time.Now().Unix()
	url := strings.Replace(h.url, "tool.git", "later.git", 1)
	dial(t, h.us.url).publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "later"}, nostr.Tag{"name", "not yet"},
		nostr.Tag{"clone", url}, nostr.Tag{"relays", string(h.us.url)}))
	if page := read(t, url); !strings.Contains(page, "<h1>later</h1>") || !strings.Contains(page, "its git data is not here yet") || strings.Contains(page, "not yet") {
		t.Errorf("what waits:\n%s", page)
	}
	bare := serve(t, "--data", t.TempDir(), "--sync=false", "--git=false")
	if code := statusOf(t, http.MethodGet, "http"+strings.TrimPrefix(string(bare.url), "ws")+h.url[strings.Index(h.url, "/npub1"):]); code != http.StatusNotFound {
		t.Errorf("without hosting: %d", code)
	}
}

// TestABackupHasTheRepositories: made of a running relay and of a stopped one, it serves the same refs and takes the next push.
func TestABackupHasTheRepositories(t *testing.T) {
	t.Parallel()
	h := hostOne(t)
	host := strings.TrimPrefix(string(h.us.url), "ws://")
	live, closed := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "copy")
	if code, out, errs := call(t, "", nil, "backup", "--data", h.data, "--admin", h.base, live); code != exitOK {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	refs := git(t, h.dir, "ls-remote", h.url)
	if code := h.us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if code, out, errs := call(t, "", nil, "backup", "--data", h.data, closed); code != exitOK {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	for i, dir := range []string{live, closed} {
		if code, out, errs := checked(t, dir); code != exitOK {
			t.Errorf("the copy: %d %s%s", code, out, errs)
		}
		for _, name := range []string{"packs", "trash"} {
			if _, err := os.Stat(filepath.Join(dir, "git", name)); err == nil {
				t.Errorf("%s is copied", name)
			}
		}
		us := serve(t, "--git", "--data", dir, "--sync=false", "--listen", host)
		if got := git(t, h.dir, "ls-remote", h.url); got != refs || !strings.Contains(got, h.tip) {
			t.Errorf("the copy serves\n%s\nand not\n%s", got, refs)
		}
		clone := filepath.Join(t.TempDir(), "clone")
		git(t, t.TempDir(), "clone", "-q", h.url, clone)
		next := commitIn(t, clone, fmt.Sprint("after the backup ", i))
		dial(t, us.url).publish(testkit.Sign(testkit.Key(1), time.Now().Unix()+1, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", next}))
		git(t, clone, "push", h.url, "main")
		if code := us.stop(); code != exitOK {
			t.Fatalf("exit code %d", code)
		}
	}
	us := serve(t, "--git", "--data", h.data, "--sync=false", "--listen", host)
	if got := git(t, h.dir, "ls-remote", h.url); got != refs {
		t.Errorf("what was copied has become\n%s", got)
	}
	us.stop()
}

package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// gitIn runs git in a directory as a contributor does, without anybody's configuration.
func gitIn(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitIn(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func commitIn(t *testing.T, dir, text string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", text)
	return git(t, dir, "rev-parse", "HEAD")
}

// stored asks whether a relay serves an event.
func (c *client) stored(e *nostr.Event) bool {
	c.t.Helper()
	c.send(nostr.AppendReq(nil, "is", nostr.Filter{IDs: []nostr.ID{e.ID}}))
	found := false
	for {
		switch m := c.next().(type) {
		case nostr.RelayEvent:
			found = found || m.Event.ID == e.ID
		case nostr.EOSE:
			return found
		}
	}
}

func TestARepositoryIsHosted(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	us := serve(t, "--git", "--data", data, "--sync=false")
	host := strings.TrimPrefix(string(us.url), "ws://")
	service, err := grasp.ParseService(host)
	if err != nil {
		t.Fatal(err)
	}
	now, owner := time.Now().Unix(), testkit.Key(1)
	url := service.CloneURL(owner.PubKey(), "a tool")
	announcement := testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "a tool"}, nostr.Tag{"name", "a tool"},
		nostr.Tag{"clone", url}, nostr.Tag{"relays", string(us.url)})
	c := dial(t, us.url)
	c.publish(announcement)
	if c.stored(announcement) {
		t.Error("an announcement without data is served")
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		if code := statusOf(t, method, url+"/info/refs?service=git-upload-pack"); code != http.StatusOK {
			t.Errorf("%s of an empty repository: %d", method, code)
		}
	}
	if code := statusOf(t, http.MethodGet, service.CloneURL(owner.PubKey(), "other")+"/info/refs?service=git-upload-pack"); code != http.StatusNotFound {
		t.Errorf("a repository that is not there: %d", code)
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	if out, err := gitIn(t, dir, "push", url, "main"); err == nil || !strings.Contains(out, "no state event for this push") {
		t.Errorf("without a state: %v\n%s", err, out)
	}
	state := testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "a tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"})
	c.publish(state)
	live := dial(t, us.url)
	live.send(nostr.AppendReq(nil, "live", nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository, nip34.KindState}}))
	if _, is := live.next().(nostr.EOSE); !is {
		t.Error("what waits is shown")
	}
	git(t, dir, "push", url, "main")
	if !c.stored(announcement) || !c.stored(state) {
		t.Error("not everything is served when git push returns")
	}
	live.awaitEvent(announcement)
	live.awaitEvent(state)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "clone", "-q", url, clone)
	if got := git(t, clone, "rev-parse", "HEAD"); got != tip {
		t.Errorf("the clone is at %s", got)
	}
	if code := us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	us = serve(t, "--git", "--data", data, "--sync=false", "--listen", host)
	again := filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "clone", "-q", url, again)
	next := commitIn(t, again, "two")
	c = dial(t, us.url)
	c.publish(testkit.Sign(owner, now+1, nip34.KindState, "", nostr.Tag{"d", "a tool"}, nostr.Tag{"refs/heads/main", next}))
	git(t, again, "push", url, "main")
	git(t, clone, "pull", "-q")
	if got := git(t, clone, "rev-parse", "HEAD"); got != next {
		t.Errorf("the clone is at %s", got)
	}
}

func statusOf(t *testing.T, method, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// TestWhatIsHostedIsSaid: GRASP-01 while repositories are hosted, GRASP-02 while they complete themselves besides, and not a word of
// either elsewhere.
func TestWhatIsHostedIsSaid(t *testing.T) {
	for _, tc := range []struct{ git, gitSync, sync, want string }{
		{"true", "true", "true", "GRASP-01 GRASP-02"},
		{"true", "false", "true", "GRASP-01"},
		{"true", "true", "false", "GRASP-01"},
		{"false", "true", "true", ""},
	} {
		us := serve(t, "--git="+tc.git, "--git-sync="+tc.gitSync, "--sync="+tc.sync, "--data", t.TempDir())
		d := document(t, us)
		if got := strings.Join(d.SupportedGRASPs, " "); got != tc.want || strings.Contains(d.RepoAcceptanceCriteria, "clone") != (tc.git == "true") {
			t.Errorf("%+v: %q, %q", tc, got, d.RepoAcceptanceCriteria)
		}
		if code := us.stop(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	}
}

func TestGitIsLookedFor(t *testing.T) {
	code, _, errs := call(t, "", map[string]string{"GRASPD_GIT": "true"}, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--data", t.TempDir(), "--git-program", "/nonexistent/git")
	if code != exitFail || !strings.Contains(errs, "/nonexistent/git") || !strings.Contains(errs, "--git=false") {
		t.Errorf("%d %s", code, errs)
	}
}

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/protocol/pktline"
	"github.com/graspd/graspd/internal/test/testkit"
)

// oldServer is git's own server behind something that drops Git-Protocol, so that it speaks version 0. A strict one gives nothing by id but
// the tips of its refs.
func oldServer(t *testing.T, root string, strict bool, tips ...string) *httptest.Server {
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Git-Protocol")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		wanted := body
		for _, tip := range tips {
			wanted = bytes.ReplaceAll(wanted, []byte("want "+tip), nil)
		}
		if strict && bytes.Contains(wanted, []byte("want ")) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = w.Write(pktline.Append(nil, "ERR upload-pack: not our ref"))
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.TransferEncoding = nil
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestGitDataComesFromServersOfVersionZero: the parent of the branch that the server shows, which is all that a state names.
func TestGitDataComesFromServersOfVersionZero(t *testing.T) {
	for name, strict := range map[string]bool{"as git is": false, "one that gives nothing by id": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, work := t.TempDir(), t.TempDir()
			git(t, work, "init", "-q", "-b", "main")
			first := commitIn(t, work, "one")
			second := commitIn(t, work, "two")
			git(t, work, "clone", "-q", "--bare", ".", filepath.Join(root, "tool.git"))
			server := oldServer(t, root, strict, second)
			us := serve(t, "--git", "--data", t.TempDir(), "--sync-allow-private")
			owner, now := testkit.Key(1), time.Now().Unix()
			url := cloneURL(t, us.url, owner.PubKey(), "tool")
			c := dial(t, us.url)
			c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", url, server.URL + "/tool.git"},
				nostr.Tag{"relays", string(us.url)}))
			c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", first}))
			other := t.TempDir()
			git(t, other, "init", "-q", "-b", "main")
			commitIn(t, other, "another one")
			if out, err := gitIn(t, other, "push", url, "main"); err == nil {
				t.Errorf("not refused: %s", out)
			}
			eventually(t, "what was to be pushed comes from elsewhere", func() bool {
				out, _ := exec.Command("git", "ls-remote", url).Output()
				return strings.Contains(string(out), first+"\trefs/heads/main")
			})
		})
	}
}

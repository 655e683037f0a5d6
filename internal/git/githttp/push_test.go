package githttp_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// takes has the host take pushes to a repository, but for refs that are refused with a reason.
func (w *world) takes(identifier, dir string, refused map[string]string) {
	w.decides(func(ctx context.Context, p githttp.PushCall) githttp.PushResult {
		r := githttp.PushResult{Lines: []string{"decided by the host"}}
		p.Progress("looking at it")
		if p.Push.NeedsPack() {
			err := w.host.git.Run(ctx, gitproc.IndexPack(1<<30), gitproc.Run{
				Kind: gitproc.Upload, At: gitproc.Dirs{Repository: dir}, In: p.Pack, Out: io.Discard,
			})
			if err != nil {
				return githttp.PushResult{Unpack: err.Error(), Outcomes: p.Push.RefuseAll("no pack")}
			}
		}
		var updates strings.Builder
		for _, c := range p.Push.Commands {
			r.Outcomes = append(r.Outcomes, gitwire.Outcome{Ref: c.Ref, Refused: refused[c.Ref]})
			if refused[c.Ref] == "" {
				fmt.Fprintf(&updates, "update %s %s %s\n", c.Ref, c.New, c.Old)
			}
		}
		if _, errs, err := tryGit(dir, updates.String(), "update-ref", "--stdin"); err != nil {
			return githttp.PushResult{Unpack: errs, Outcomes: p.Push.RefuseAll("refs")}
		}
		for _, c := range p.Push.Invalid {
			r.Outcomes = append(r.Outcomes, gitwire.Outcome{Ref: c.Ref, Refused: c.Reason})
		}
		w.serve(identifier, dir)
		return r
	})
}

// worktree is a repository with a commit of so many random bytes.
func worktree(t testing.TB, bytes int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a")
	git(t, "", "", "init", "-q", "-b", "trunk", dir)
	git(t, dir, "", "config", "core.compression", "0")
	commit(t, dir, bytes)
	return dir
}

func commit(t testing.TB, dir string, bytes int) {
	t.Helper()
	noise := make([]byte, bytes)
	if _, err := rand.NewChaCha8([32]byte{byte(bytes), byte(bytes >> 8)}).Read(noise); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "noise"), noise, 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "", "add", "noise")
	git(t, dir, "", "commit", "-q", "-m", "noise")
}

// TestGitPushes has git push in each version of the protocol: little, much, and a deletion.
func TestGitPushes(t *testing.T) {
	for version := range 3 {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			w := open(t, settings{})
			dir, a := emptyRepository(t), worktree(t, 1000)
			w.serve("r", dir)
			w.takes("r", dir, nil)
			push := func(args ...string) string {
				t.Helper()
				_, said, err := tryGit(a, "", append([]string{"-c", fmt.Sprintf("protocol.version=%d", version), "push", "--progress", w.url}, args...)...)
				if err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				return said
			}
			said := push("trunk")
			for _, want := range []string{"remote: looking at it", "remote: decided by the host", "[new branch]      trunk -> trunk"} {
				if !strings.Contains(said, want) {
					t.Errorf("git prints\n%swithout %q", said, want)
				}
			}
			if said := push("--no-progress", "trunk:refs/heads/quiet"); strings.Contains(said, "looking") || !strings.Contains(said, "decided") {
				t.Errorf("git prints\n%q", said)
			}
			commit(t, a, 3<<20) // in chunks, after a question whether it may
			push("trunk", "trunk:refs/heads/other")
			if n := w.server.Stats().Pushes[githttp.PushNothing]; n != 1 {
				t.Errorf("git asked %d times", n)
			}
			push(":refs/heads/quiet")
			if refs := git(t, dir, "", "for-each-ref", "--format=%(refname) %(objectname)"); refs != strings.ReplaceAll("refs/heads/other X\nrefs/heads/trunk X\n", "X", strings.TrimSpace(git(t, a, "", "rev-parse", "HEAD"))) {
				t.Errorf("it is\n%s", refs)
			}
			if s := w.server.Stats(); s.Pushes[githttp.PushTaken] != 4 || s.In < 3<<20 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestGitShowsRefusals: whatever was read of the pack, git says why nothing came of the push.
func TestGitShowsRefusals(t *testing.T) {
	w := open(t, settings{Config: githttp.Config{MaxPush: 45 << 20}})
	dir := emptyRepository(t)
	w.serve("r", dir)
	trees := map[int]string{}
	for _, bytes := range []int{1000, 5 << 20, 50 << 20, 120 << 20} {
		trees[bytes] = worktree(t, bytes)
	}
	const sentence = "no state event for this push: publish your repository state (kind 30618) first"
	for _, c := range []struct {
		what  string
		bytes int
		args  []string
		push  func(context.Context, githttp.PushCall) githttp.PushResult
		want  []string
	}{
		{"a small one", 1000, []string{"trunk"}, nil, []string{"remote: " + sentence, "[remote rejected] trunk -> trunk (not now)"}},
		{"5 MB", 5 << 20, []string{"trunk"}, nil, []string{"remote: " + sentence, "[remote rejected] trunk -> trunk (not now)"}},
		{"50 MB", 50 << 20, []string{"trunk"}, nil, []string{"remote: " + sentence, "[remote rejected] trunk -> trunk (not now)"}},
		{"120 MB, of which 64 are read", 120 << 20, []string{"trunk"}, nil, []string{"remote: " + sentence, "[remote rejected] trunk -> trunk (not now)"}},
		{"50 MB, of which 45 are read", 50 << 20, []string{"trunk"}, func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			_, err := io.Copy(io.Discard, p.Pack)
			return githttp.PushResult{Unpack: fmt.Sprint(err), Outcomes: p.Push.RefuseAll("too much")}
		}, []string{"remote unpack failed: the pack has more than the 45 MiB that may be pushed at once", "[remote rejected] trunk -> trunk (too much)"}},
		{"120 MB, of which 109 are read", 120 << 20, []string{"trunk"}, func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			_, err := io.Copy(io.Discard, p.Pack)
			return githttp.PushResult{Unpack: fmt.Sprint(err), Outcomes: p.Push.RefuseAll("too much")}
		}, []string{"remote unpack failed: the pack has more than the 45 MiB that may be pushed at once", "[remote rejected] trunk -> trunk (too much)"}},
		{"a ref that cannot be", 1000, []string{"HEAD:refs/heads/-x"}, nil, []string{"[remote rejected] HEAD -> -x ('refs/heads/-x' begins with a dash"}},
	} {
		w.decides(c.push)
		if c.push == nil {
			w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
				return githttp.PushResult{Outcomes: p.Push.RefuseAll("not now"), Lines: []string{sentence}}
			})
		}
		_, said, err := tryGit(trees[c.bytes], "", append([]string{"push", w.url}, c.args...)...)
		if err == nil {
			t.Errorf("%s is pushed", c.what)
		}
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: git prints\n%swithout %q", c.what, said, want)
			}
		}
		if strings.Contains(said, "RPC failed") || strings.Contains(said, "hung up") || strings.Contains(said, "bad band") || strings.Contains(said, "up-to-date") {
			t.Errorf("%s: git prints\n%s", c.what, said)
		}
	}
}

// TestPushesWhereAnotherNodeTakesThem: whoever pushes is told to try again, before they send anything, and fetches are served.
func TestPushesWhereAnotherNodeTakesThem(t *testing.T) {
	w := open(t, settings{reads: true})
	w.serve("r", emptyRepository(t))
	for method, rest := range map[string]string{"GET": "/info/refs?service=git-receive-pack", "POST": "/git-receive-pack"} {
		if got := w.ask(t, method, rest, ""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, ingest.NoWriter) || got.head.Get("Retry-After") != "5" {
			t.Errorf("%s: %+v", rest, got)
		}
	}
	if got := w.ask(t, "GET", "/info/refs?service=git-upload-pack", ""); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
}

package git

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitLFS has git-lfs push: what has no large files goes through, and what has some hears that they are not kept here.
func TestGitLFS(t *testing.T) {
	s := serve(t)
	url, _ := s.announce(t, "lfs")
	r := repo{t, filepath.Join(t.TempDir(), "r")}
	repo{t, filepath.Dir(r.dir)}.git("", "init", "-q", "-b", "main", "r")
	r.git("", "lfs", "install", "--local")
	r.git("", "lfs", "track", "*.bin")
	r.git("", "add", ".gitattributes")
	r.git("", "remote", "add", "origin", url)
	push := func(more ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "git", "push", "origin", "main")
		cmd.Dir, cmd.Env = r.dir, append(environment(), more...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	r.commit("small", "text")
	s.state(t, "lfs", r.refs("refs/heads"))
	if out, err := push(); err != nil || strings.Contains(out, "proper access") || strings.Contains(out, "Authentication") {
		t.Fatalf("%v:\n%s", err, out)
	}
	r.commit("large.bin", "as if it were large")
	s.state(t, "lfs", r.refs("refs/heads"))
	if out, err := push(); err == nil || !strings.Contains(out, "objects of Git LFS are not kept here") {
		t.Errorf("%v:\n%s", err, out)
	} else {
		t.Log(out)
	}
	// The commit itself is no large file.
	if out, err := push("GIT_LFS_SKIP_PUSH=1"); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

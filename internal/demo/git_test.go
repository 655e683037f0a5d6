package demo

import (
	"path/filepath"
	"strings"
	"testing"
)

func made(t *testing.T, n int) (bench, [][]string) {
	t.Helper()
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere")) // of whoever looks on
	b := bench(filepath.Join(t.TempDir(), "bench"))
	all, err := b.histories(t.Context(), n, 1_700_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return b, all
}

func TestHistories(t *testing.T) {
	_, all := made(t, len(names))
	tips := map[string]bool{}
	for i, commits := range all {
		if len(commits) != 20-3*i {
			t.Errorf("history %d has %d commits", i, len(commits))
		}
		tips[commits[len(commits)-1]] = true
	}
	if len(tips) != len(names) {
		t.Errorf("%d histories are different", len(tips))
	}
}

func TestGitSaysWhatIsWrong(t *testing.T) {
	b, _ := made(t, 1)
	if _, err := b.git(t.Context(), nil, "rev-parse", "--verify", "nothing"); err == nil || !strings.Contains(err.Error(), "git rev-parse: ") || !strings.Contains(err.Error(), "single revision") {
		t.Errorf("%v", err)
	}
}

func TestAClonesCommitsAreCompared(t *testing.T) {
	b, all := made(t, 2)
	from := bench(filepath.Join(string(b), "served"))
	for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", string(from)}, {"push", "-q", string(from), "refs/heads/0:" + branch}} {
		if _, err := b.git(t.Context(), nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		commits []string
		same    bool
	}{"same": {all[0], true}, "fewer": {all[0][1:], false}, "others": {all[1], false}} {
		if err := b.clone(t.Context(), string(from), c.commits, filepath.Join(t.TempDir(), name)); (err == nil) != c.same {
			t.Errorf("%s: %v", name, err)
		}
	}
}

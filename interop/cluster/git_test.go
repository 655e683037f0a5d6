package cluster

import (
	"context"
	"fmt"
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

// repository is a repository of an owner, to which somebody pushes. One goroutine at a time uses it.
type repository struct {
	owner   nostr.SecretKey
	d, dir  string
	service grasp.Service

	at, made int64  // when it was announced, and the commits since
	said     string // the commit of which git last said that it is there
	pushed   int    // how often it did
}

var owner = testkit.Key(1)

func newRepository(t *testing.T, d string) *repository {
	t.Helper()
	s, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	r := &repository{owner: owner, d: d, dir: t.TempDir(), service: s, at: time.Now().Unix() - 1000}
	if out, err := git(t.Context(), r.dir, "init", "-q", "-b", "main"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// git runs git without anybody's configuration.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.WaitDelay = dir, 5*time.Second // what it has started may go on
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r *repository) url(m *machine) string {
	return "http://" + m.listen + strings.TrimPrefix(r.service.CloneURL(r.owner.PubKey(), r.d), r.service.WebURL())
}

// publishes publishes an event until a machine says OK to it, and reports whether it did before ctx ended.
func publishes(ctx context.Context, m *machine, e *nostr.Event) bool {
	for ctx.Err() == nil {
		c, err := m.dial(ctx)
		if err != nil {
			return false
		}
		a, heard := publish(ctx, c, e)
		c.CloseNow()
		if heard && a.OK {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// announcement is the event that announces the repository.
func (r *repository) announcement() *nostr.Event {
	return testkit.Sign(r.owner, r.at, nip34.KindRepository, "", nostr.Tag{"d", r.d}, nostr.Tag{"name", r.d},
		nostr.Tag{"clone", r.service.CloneURL(r.owner.PubKey(), r.d)}, nostr.Tag{"relays", r.service.RelayURL().String()})
}

// pushes announces the repository and pushes commits until ctx ends.
func (r *repository) pushes(ctx context.Context, m *machine) {
	if !publishes(ctx, m, r.announcement()) {
		return
	}
	for ctx.Err() == nil {
		r.push(ctx, m)
	}
}

// commit makes a commit, and the event that has the main branch there. It fails once ctx ends.
func (r *repository) commit(ctx context.Context, t *testing.T) (tip string, state *nostr.Event, ok bool) {
	r.made++
	if err := os.WriteFile(filepath.Join(r.dir, "file"), fmt.Appendf(nil, "%s %d", r.d, r.made), 0o600); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"add", "."}, {"commit", "-q", "-m", "more"}} {
		if out, err := git(ctx, r.dir, args...); err != nil && ctx.Err() == nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	tip, err := git(ctx, r.dir, "rev-parse", "HEAD")
	return tip, testkit.Sign(r.owner, r.at+r.made, nip34.KindState, "", nostr.Tag{"d", r.d}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}), err == nil
}

// push makes a commit and pushes it, once.
func (r *repository) push(ctx context.Context, m *machine) {
	tip, state, ok := r.commit(ctx, m.t)
	if !ok || !publishes(ctx, m, state) {
		return
	}
	if _, err := git(ctx, r.dir, "push", "-q", r.url(m), "main"); err == nil {
		r.said, r.pushed = tip, r.pushed+1
	}
}

// isThere requires that a machine has the commit of which git last said that it is there, with all that it leads to.
func (r *repository) isThere(t *testing.T, m *machine) {
	t.Helper()
	if r.said == "" {
		t.Errorf("nothing of %s was pushed", r.d)
		return
	}
	dir := filepath.Join(t.TempDir(), "clone")
	for _, c := range []struct {
		in   string
		args []string
	}{{r.dir, []string{"clone", "-q", r.url(m), dir}}, {dir, []string{"fsck", "--full"}}, {dir, []string{"merge-base", "--is-ancestor", r.said, "HEAD"}}} {
		if out, err := git(t.Context(), c.in, c.args...); err != nil {
			t.Errorf("git %s: %v: %s\n%s", c.args[0], err, out, m.logs.tail())
			return
		}
	}
}

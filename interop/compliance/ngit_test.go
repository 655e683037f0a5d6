package compliance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// person is somebody who works with ngit; a person without a key only looks.
type person struct {
	t    *testing.T
	home string
	env  []string
}

func newPerson(t *testing.T, at, name string) *person {
	t.Helper()
	bin, home, relay := filepath.Dir(theirs(t, "ngit")), t.TempDir(), "ws://"+at
	p := &person{t, home, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1",
		// Else ngit asks relays of the world.
		"NGITTEST=true", "NGIT_RELAY_DEFAULT_SET="+relay, "NGIT_RELAY_BLASTER_SET=", "NGIT_RELAY_SIGNER_FALLBACK_SET="+relay, "NGIT_GRASP_DEFAULT_SET="+relay)}
	p.run(home, "git", "config", "--global", "user.name", name)
	p.run(home, "git", "config", "--global", "user.email", name+"@example.org")
	p.run(home, "git", "config", "--global", "init.defaultBranch", "main")
	return p
}

// run runs a program, which must succeed, and returns what it prints.
func (p *person) run(dir, program string, args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "env", append([]string{program}, args...)...)
	cmd.Dir, cmd.Env = dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit adds a commit and returns its id.
func (p *person) commit(dir, text string) string {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, text), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.run(dir, "git", "add", ".")
	p.run(dir, "git", "commit", "-qm", text)
	return p.run(dir, "git", "rev-parse", "HEAD")
}

// TestNgit: one publishes a repository, another clones it without a key, proposes a change, and the first one merges it.
func TestNgit(t *testing.T) {
	at := serve(t)
	owner, other := newPerson(t, at, "ann"), newPerson(t, at, "bob")
	here := t.TempDir()
	owner.run(here, "git", "init", "-q")
	owner.run(here, "git", "config", "nostr.nsec", strings.Repeat("11", 32))
	owner.commit(here, "one")
	owner.run(here, "ngit", "init", "-d", "--name", "tool", "--grasp-server", "ws://"+at)
	tip := owner.commit(here, "two")
	owner.run(here, "git", "tag", "-am", "the first", "v1")
	owner.run(here, "git", "push", "-q", "origin", "main", "v1")
	url := owner.run(here, "git", "remote", "get-url", "origin")

	there := filepath.Join(t.TempDir(), "clone")
	other.run(other.home, "git", "clone", "-q", url, there)
	if got := other.run(there, "git", "rev-parse", "HEAD"); got != tip {
		t.Fatalf("cloned %s, want %s", got, tip)
	}
	other.run(there, "git", "rev-parse", "v1^{tag}")
	other.run(there, "git", "config", "nostr.nsec", strings.Repeat("22", 32))
	other.run(there, "git", "checkout", "-qb", "pr/better")
	better := other.commit(there, "better")
	other.run(there, "git", "push", "-q", "-u", "origin", "pr/better")
	other.run(there, "ngit", "issue", "create", "--subject", "it crashes", "--body", "each time")

	owner.run(here, "git", "fetch", "-q")
	if list := owner.run(here, "ngit", "issue", "list"); !strings.Contains(list, "it crashes") {
		t.Errorf("issues:\n%s", list)
	}
	var id string
	for line := range strings.Lines(owner.run(here, "ngit", "pr", "list")) {
		if f := strings.Fields(line); len(f) > 2 && f[1] == "open" {
			id = f[0]
		}
	}
	owner.run(here, "ngit", "merge", id)
	owner.run(here, "git", "push", "-q")
	other.run(there, "git", "fetch", "-q")
	if got := other.run(there, "git", "rev-parse", "origin/main^2"); got != better {
		t.Errorf("merged %s, want %s", got, better)
	}
	if list := other.run(there, "ngit", "pr", "list", "--status", "applied"); !strings.Contains(list, id) {
		t.Errorf("pull requests:\n%s", list)
	}
}

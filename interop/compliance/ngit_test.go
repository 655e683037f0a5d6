package compliance

import (
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// newPerson returns somebody with a name who knows one relay, and has settings more in the environment.
func newPerson(t *testing.T, relay, name string, more ...string) *person {
	t.Helper()
	bin, home := filepath.Dir(theirs(t, "ngit")), t.TempDir()
	p := &person{t, home, append(append(os.Environ(), more...), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1",
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
	at := serve(t, "--contributors")
	owner, other := newPerson(t, "ws://"+at, "ann"), newPerson(t, "ws://"+at, "bob")
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

// TestTheCommandsOfTheReadme: what README.md names, and what the pages name, is all that two people need, behind a web server with a certificate.
func TestTheCommandsOfTheReadme(t *testing.T) {
	host, trusted := behind(t)
	trust := []string{"SSL_CERT_FILE=" + trusted, "GIT_SSL_CAINFO=" + trusted}
	owner, other := newPerson(t, "wss://"+host, "ann", trust...), newPerson(t, "wss://"+host, "bob", trust...)
	here := filepath.Join(t.TempDir(), "greet")
	owner.run(owner.home, "git", "init", "-q", here)
	owner.run(here, "git", "config", "nostr.nsec", strings.Repeat("11", 32))
	tip := owner.commit(here, "one")
	owner.run(here, "ngit", "init", "--grasp-server", host, "--defaults")
	owner.run(here, "git", "push")
	url := regexp.MustCompile(`git clone (https://\S+/npub1\w+)/greet.git`)
	start := page(t, "https://"+host+"/")
	at := regexp.MustCompile(`href="[^"]*(/npub1\w+/greet.git)"`).FindStringSubmatch(start)
	if at == nil {
		t.Fatalf("the start page does not lead to the repository:\n%s", start)
	}
	repository := "https://" + host + at[1]
	if m := url.FindStringSubmatch(page(t, repository)); m == nil || m[1]+"/greet.git" != repository {
		t.Errorf("the page names %q to clone", m)
	}
	npub, _, _ := strings.Cut(at[1][1:], "/")
	if got := other.run(other.home, "git", "ls-remote", repository, "HEAD"); !strings.HasPrefix(got, tip) {
		t.Errorf("git finds %s, want %s", got, tip)
	}
	there := filepath.Join(t.TempDir(), "greet")
	other.run(other.home, "git", "clone", "-q", "nostr://"+npub+"/"+host+"/greet", there)
	other.run(there, "git", "config", "nostr.nsec", strings.Repeat("22", 32))
	other.run(there, "git", "checkout", "-qb", "pr/better")
	better := other.commit(there, "better")
	other.run(there, "git", "push", "-q", "-u", "origin", "pr/better")

	list := page(t, repository+"/pulls")
	note := regexp.MustCompile(`/pulls/note1\w+`).FindString(list)
	if note == "" {
		t.Fatalf("no pull request is listed:\n%s", list)
	}
	pull := page(t, repository+note)
	for _, says := range []string{"merges cleanly", better[:10], ">better</bdi>"} {
		if !strings.Contains(pull, says) {
			t.Errorf("the page of the pull request does not say %q", says)
		}
	}
	boxes := regexp.MustCompile(`(?s)<pre class="copy"[^>]*>(git fetch .*?)</pre>`).FindStringSubmatch(pull)
	if boxes == nil {
		t.Fatalf("the page names no commands:\n%s", pull)
	}
	owner.run(here, "sh", "-ec", html.UnescapeString(boxes[1]))
	if got := owner.run(here, "git", "rev-parse", "HEAD^2"); got != better {
		t.Errorf("merged %s, want %s", got, better)
	}
	owner.run(here, "git", "push")
	if said := page(t, repository+note); !strings.Contains(said, "merged</span>") {
		t.Errorf("the page does not say that it is merged:\n%s", said)
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestARepositoryComesBackFromABackup: into a relay that has nothing of it, and into one that has all of it or newer; the backup stays as it
// was. An earlier value of a branch is listed and comes as a bundle: from the running relay, from a stopped one and from the backup.
func TestARepositoryComesBackFromABackup(t *testing.T) {
	t.Parallel()
	h := hostOne(t)
	host := strings.TrimPrefix(string(h.us.url), "ws://")
	owner := testkit.Key(1)
	address := "30617:" + owner.PubKey().String() + ":tool"
	graspd := func(code int, want string, args ...string) string {
		t.Helper()
		got, out, errs := call(t, "", nil, args...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Fatalf("%v: %d %s%s", args, got, out, errs)
		}
		return out + errs
	}
	c := dial(t, h.us.url)
	issue := testkit.Sign(testkit.Key(2), time.Now().Unix(), nip34.KindIssue, "it breaks", nostr.Tag{"a", address})
	c.publish(issue)
	c.publish(testkit.Sign(owner, time.Now().Unix(), nostr.KindComment, "so it does", nostr.Tag{"E", issue.ID.String()}, nostr.Tag{"e", issue.ID.String()}))
	c.publish(testkit.Sign(owner, time.Now().Unix(), nip34.KindRepository, "", nostr.Tag{"d", "other"}, nostr.Tag{"clone", strings.Replace(h.url, "tool", "other", 1)}, nostr.Tag{"relays", string(h.us.url)}))
	copied := filepath.Join(t.TempDir(), "copy")
	graspd(exitOK, "copied to", "backup", "--data", h.data, "--admin", h.base, copied)
	refs := git(t, h.dir, "ls-remote", h.url)

	// A branch moved by force: its earlier value is left, and nobody is served it.
	git(t, h.dir, "commit", "-q", "--amend", "-m", "another")
	tip := git(t, h.dir, "rev-parse", "HEAD")
	c.publish(testkit.Sign(owner, time.Now().Unix()+1, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, h.dir, "push", "-f", h.url, "main")
	earlier := []string{"restore", "--repository", h.url, "--data", h.data, "--admin", h.base}
	take := func(name string) {
		t.Helper()
		if out := graspd(exitOK, "go two to four weeks after", append(earlier, "--ref", "main")...); !strings.Contains(out, "\n  "+h.tip+" ") || !strings.Contains(out, "refs/heads/main is\n  "+tip) {
			t.Errorf("%s: %s", name, out)
		}
		to, into := filepath.Join(t.TempDir(), "main.bundle"), t.TempDir()
		graspd(exitOK, "git fetch main.bundle main", append(earlier, "--ref", "main="+h.tip, "--to", to)...)
		git(t, into, "clone", "-q", "-b", "main", to, ".")
		if got := git(t, into, "rev-parse", "HEAD"); got != h.tip {
			t.Errorf("%s: the bundle has %s", name, got)
		}
		graspd(exitFail, "exist", append(earlier, "--ref", "main="+h.tip, "--to", to)...)
	}
	take("running")
	graspd(exitFail, "events: 0 published, 3 were here, 1 are here in a newer version, 0 refused", append(earlier, "--from", copied)...) // the push of an older value is refused
	if code := h.us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	take("stopped")
	if got, out, errs := checked(t, h.data); got != exitOK {
		t.Errorf("not sound: %d %s%s", got, out, errs)
	}
	if out := graspd(exitOK, "no commit is there", append(earlier, "--ref", "main", "--from", copied)...); !strings.Contains(out, h.tip) {
		t.Errorf("the backup has another value: %s", out)
	}

	fresh := t.TempDir()
	h.us = serve(t, "--git", "--data", fresh, "--sync=false", "--listen", host, "--admin-listen", "127.0.0.1:0")
	base := h.us.out.await(t, `at (http://\S+)/status.json\n`)
	back := []string{"restore", "--repository", address, "--admin", base, "--from", copied}
	graspd(exitOK, "events: 4 published, 0 were here, 0 are here in a newer version, 0 refused", back...)
	if n := dial(t, h.us.url).count(nostr.Filter{}); n != 4 {
		t.Errorf("%d events are back", n)
	}
	if got := git(t, h.dir, "ls-remote", h.url); got != refs {
		t.Errorf("refs are back as\n%s\nand were\n%s", got, refs)
	}
	graspd(exitOK, "events: 0 published, 4 were here", back...)
	for _, what := range [][]string{{"--repository", address}, {"--author", nip19.Npub(owner.PubKey())}} {
		graspd(exitOK, "are gone", append([]string{"delete", "--admin", base, "--data", fresh, "--yes"}, what...)...)
		said := graspd(exitFail, "puts it back", back...)
		n := regexp.MustCompile(`graspd restore --case (\d+) `).FindStringSubmatch(said)
		if n == nil || strings.Contains(said, "refused") {
			t.Fatalf("what was taken away: %s", said)
		}
		graspd(exitOK, "", "restore", "--admin", base, "--data", fresh, "--case", n[1])
		graspd(exitOK, "0 refused", back...)
	}
	if got, out, errs := checked(t, copied); got != exitOK {
		t.Errorf("the backup is not as it was: %d %s%s", got, out, errs)
	}

	tar := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(tar, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		code int
		want string
		args []string
	}{
		{exitFail, "has nothing of", []string{"--repository", strings.Replace(h.url, "tool", "nothing", 1), "--from", copied}},
		{exitUsage, "unpack it first", []string{"--repository", h.url, "--from", tar}},
		{exitFail, "no data directory of graspd", []string{"--repository", h.url, "--from", t.TempDir()}},
		{exitUsage, "wants --from with a backup", []string{"--repository", h.url}},
		{exitUsage, "name it", []string{"--from", copied}},
		{exitUsage, "not both", []string{"--repository", h.url, "--case", "1", "--from", copied}},
		{exitUsage, "goes into a file", []string{"--repository", h.url, "--ref", "main=" + h.tip}},
		{exitUsage, "goes into a file", []string{"--repository", h.url, "--ref", "main", "--to", "x"}},
		{exitUsage, "want a repository", []string{"--repository", "tool", "--from", copied}},
	} {
		graspd(x.code, x.want, append([]string{"restore", "--admin", base}, x.args...)...)
	}
}

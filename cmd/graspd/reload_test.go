package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// The configuration file is read anew at SIGHUP: what the relay says of itself, lists and proof of work change at once, what needs a
// restart is named, and a file with a mistake changes nothing.
func TestSettingsAreRereadOnHangup(t *testing.T) {
	file := written(t, "name = \"before\"\nmin-pow = 0\ndomain = \"relay.example.org\"\n")
	us := serve(t, "--data", t.TempDir(), "--config", file, "--admin-listen=", "--contact", "mailto:flag@example.org")
	change := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		hangUp(t)
	}
	about := func(accept string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(string(us.url), "ws"), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	has := func(when string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if doc := about("application/nostr+json"); !strings.Contains(doc, text) {
				t.Errorf("%s: %s is not told: %s", when, text, doc)
			}
		}
	}
	author := testkit.Key(3)
	c := dial(t, us.url)
	has("at first", `"before"`, `"min_pow_difficulty":0`, "mailto:flag@example.org")
	c.publish(testkit.Announcement(author, time.Now().Unix(), "one", "wss://relay.example.org"))

	change("name = \"after\"\nmin-pow = 40\ndomain = \"relay.example.org\"\ncontact = \"mailto:file@example.org\"\nsync-max-relays = 7\ndescription = \"words\"\n")
	us.logs.await(t, `settings reread.* min_pow=40`)
	us.logs.await(t, `after a restart.*setting=sync-max-relays`)
	has("changed", `"after"`, `"words"`, `"min_pow_difficulty":40`, "mailto:flag@example.org")
	c.refused(testkit.Announcement(author, time.Now().Unix(), "two", "wss://relay.example.org"), "pow: ")
	if page := about("text/html"); !strings.Contains(page, "after") || strings.Contains(page, "before") {
		t.Error("the page has the former name")
	}

	change("name = \"wrong\"\nmin-pow = 0\ndomain = \"relay.example.org\"\ndeny-pubkeys = [\"bob\"]\n")
	us.logs.await(t, `a setting cannot be read again.*bob`)
	us.logs.await(t, `the settings stay as they were`)
	change("name = \"wrong\"\nmin-pow = 0\ndomian = \"relay.example.org\"\n")
	us.logs.await(t, `did you mean domain`)
	has("a mistake", `"after"`, `"min_pow_difficulty":40`)
	c.refused(testkit.Announcement(author, time.Now().Unix(), "three", "wss://relay.example.org"), "pow: ")

	change("domain = \"relay.example.org\"\ndeny-pubkeys = [\"" + testkit.Key(4).PubKey().String() + "\"]\n")
	us.logs.await(t, `settings reread.* deny_pubkeys=1.* min_pow=0`)
	has("back to defaults", `"graspd"`, `"min_pow_difficulty":0`)
	c.publish(testkit.Announcement(author, time.Now().Unix(), "four", "wss://relay.example.org"))
	c.refused(testkit.Announcement(testkit.Key(4), time.Now().Unix(), "five", "wss://relay.example.org"), "blocked: ")
}

// Bounds of git data are read anew, too: a push that was too large is taken once it may be that large.
func TestBoundsOfGitDataAreRereadOnHangup(t *testing.T) {
	file := written(t, "git-max-push = 20\n")
	us := serve(t, "--git", "--data", t.TempDir(), "--config", file, "--sync=false", "--admin-listen=")
	owner, now, dir := testkit.Key(1), time.Now().Unix(), t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	at := cloneURL(t, us.url, owner.PubKey(), "tool")
	c := dial(t, us.url)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", at}, nostr.Tag{"relays", string(us.url)}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}))
	if out, err := gitIn(t, dir, "push", at, "main"); err == nil {
		t.Fatalf("not refused: %s", out)
	}
	for _, step := range []struct{ text, refused string }{
		{"git-max-push = \"1MiB\"\ngit-max-author = 20\n", "and may have"},
		{"git-max-push = \"1MiB\"\ngit-max-data = 20\n", "as much git data"},
	} {
		if err := os.WriteFile(file, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		hangUp(t)
		eventually(t, step.refused, func() bool {
			out, err := gitIn(t, dir, "push", at, "main")
			return err != nil && strings.Contains(out, step.refused)
		})
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp(t)
	eventually(t, "the push is taken", func() bool { _, err := gitIn(t, dir, "push", at, "main"); return err == nil })
}

package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/test/testkit"
)

// A relay whose bootstrap relay has no announcement for it says so wherever its operator looks, until it carries something.
func TestARelayThatCarriesNothingSaysSo(t *testing.T) {
	t.Parallel()
	source := testkit.Serve(t)
	now := time.Now().Unix()
	for i := range 3 {
		source.Add(testkit.Announcement(testkit.Key(1+i), now-100, "proj", "wss://relay.example.org", "wss://other.example.net"))
	}
	dir := t.TempDir()
	us := serve(t, "--data", dir, "--domain", "git.example.com", "--bootstrap", string(source.URL), "--sync-batch-window", "50ms", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	us.out.await(t, `(no repository is kept here yet)`)
	us.logs.await(t, `(no repository is kept here)`)
	for _, want := range []string{"announcements=3", "relays=1", "they list other.example.net (3), relay.example.org (3)"} {
		if !strings.Contains(us.logs.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, us.logs)
		}
	}
	code, out, errs := call(t, "", nil, "status", "--admin", base)
	for _, want := range []string{"│ No repository is kept here yet: 3 announcements came from 1 relay since the start, and none of them lists this relay (wss://git.example.com).",
		"│ They list other.example.net (3), relay.example.org (3).", "publish an announcement (kind 30617) with wss://git.example.com in its relays tag", "graspd import --domain git.example.com --data " + dir + " --git=false FILE"} {
		if !strings.Contains(out, want) {
			t.Errorf("status has no %q:\n%s", want, out)
		}
	}
	if code != exitFail || !strings.Contains(errs, "graspd: no repository is kept here: 3 announcements came") {
		t.Errorf("exit code %d, said %s", code, errs)
	}
	if code, b := fetch(t, base+"/"); code != http.StatusOK || !strings.Contains(string(b), "<h2>No repository is kept here yet</h2>") || !strings.Contains(string(b), "relay.example.org (3)") {
		t.Errorf("the page: %d %s", code, b)
	}
	if code, b := fetch(t, base+"/readyz"); code != http.StatusOK {
		t.Errorf("readyz: %d %s; nobody could publish the first one", code, b)
	}

	us.stop()
	us = serve(t, "--data", dir, "--domain", "git.example.com", "--bootstrap", string(source.URL), "--sync-batch-window", "50ms", "--admin-listen", "127.0.0.1:0")
	base = us.out.await(t, `at (http://\S+)/status.json\n`)
	us.logs.await(t, `(no repository is kept here)`)
	if code, out, errs := call(t, "", nil, "status", "--admin", base); code != exitFail || !strings.Contains(out, "3 announcements came from 1 relay") {
		t.Errorf("after a restart: exit code %d\n%s%s", code, out, errs)
	}

	c := dial(t, us.url)
	c.publish(testkit.Announcement(testkit.Key(9), now, "mine", "wss://git.example.com"))
	if code, out, errs := call(t, "", nil, "status", "--admin", base); code != exitOK || strings.Contains(out, "No repository is kept") {
		t.Errorf("with a repository: exit code %d\n%s%s", code, out, errs)
	}
}

// Where nothing was announced there is nothing to be looked after yet.
func TestAFreshRelayIsWell(t *testing.T) {
	us := serve(t, "--data", t.TempDir(), "--domain", "git.example.com", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	if code, out, errs := call(t, "", nil, "status", "--admin", base); code != exitOK || !strings.Contains(out, "no announcement has come since the start") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// TestABootstrapRelayThatIsThisRelay: whoever moves from another relay and leaves it its name is told why nothing comes.
func TestABootstrapRelayThatIsThisRelay(t *testing.T) {
	t.Parallel()
	us := serve(t, "--data", t.TempDir(), "--git=false", "--domain", "git.example.com", "--bootstrap", "wss://git.example.com/,wss://127.0.0.1:9")
	if line := us.logs.await(t, `([^\n]*is this relay itself[^\n]*)`); !strings.Contains(line, "relay=wss://git.example.com") || !strings.Contains(line, "another address") {
		t.Error(line)
	}
	if strings.Contains(us.logs.String(), "itself relay=wss://127.0.0.1:9") {
		t.Errorf("another relay is taken for this one: %s", us.logs)
	}
}

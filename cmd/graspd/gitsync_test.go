package main

import (
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/testkit"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func cloneURL(t *testing.T, r grasp.RelayURL, owner nostr.PubKey, d string) string {
	t.Helper()
	s, err := grasp.ParseService(strings.TrimPrefix(string(r), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	return s.CloneURL(owner, d)
}

// eventually waits until is, and fails where it does not come within a minute.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	begun := time.Now()
	for !is() {
		if time.Since(begun) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%s, after %v", what, time.Since(begun).Round(time.Millisecond))
}

// TestAPushToOneRelayIsClonedFromTheOther: two relays that one announcement names complete each other.
func TestAPushToOneRelayIsClonedFromTheOther(t *testing.T) {
	t.Parallel()
	addressA, addressB := freeAddress(t), freeAddress(t)
	start := func(address, data string) *running {
		return serve(t, "--git", "--listen", address, "--data", data, "--sync-allow-private", "--sync-base-backoff=200ms", "--admin-listen=")
	}
	dataA, dataB := t.TempDir(), t.TempDir()
	a, b := start(addressA, dataA), start(addressB, dataB)
	owner, now := testkit.Key(1), time.Now().Unix()
	urlA, urlB := cloneURL(t, a.url, owner.PubKey(), "tool"), cloneURL(t, b.url, owner.PubKey(), "tool")
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	state := func(at int64) string {
		tip := commitIn(t, dir, time.Unix(at, 0).String())
		dial(t, a.url).publish(testkit.Sign(owner, at, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
		git(t, dir, "push", "-q", urlA, "main")
		return tip
	}
	announcement := testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"name", "a tool"},
		nostr.Tag{"clone", urlA, urlB}, nostr.Tag{"relays", string(a.url), string(b.url)})
	dial(t, a.url).publish(announcement)
	dial(t, b.url).publish(announcement)
	tip := state(now)
	at := func(url string) string {
		out, _ := exec.Command("git", "ls-remote", url, "refs/heads/main").Output()
		id, _, _ := strings.Cut(string(out), "\t")
		return id
	}
	eventually(t, "the other relay has what was pushed", func() bool { return at(urlB) == tip })
	git(t, t.TempDir(), "clone", "-q", urlB, "copy")
	tip = state(now + 1)
	eventually(t, "the other relay follows", func() bool { return at(urlB) == tip })
	if code := b.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	tip = state(now + 2)
	b = start(addressB, dataB)
	eventually(t, "one that was away catches up", func() bool { return at(urlB) == tip })
	if code := b.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if err := os.RemoveAll(filepath.Join(dataB, "git")); err != nil {
		t.Fatal(err)
	}
	b = start(addressB, dataB)
	eventually(t, "one that lost its git data has it again", func() bool {
		into := filepath.Join(t.TempDir(), "copy")
		return exec.Command("git", "clone", "-q", urlB, into).Run() == nil && git(t, into, "rev-parse", "HEAD") == tip
	})
	if code := b.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if code, out, errs := call(t, "", nil, "check", "--data", dataB); code != exitOK {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// TestMovingFromABootstrapRelay: a new relay that has the old one as bootstrap holds its repositories whole, events and git data, though
// nothing but that flag leads there, and private addresses are refused to announcements.
func TestMovingFromABootstrapRelay(t *testing.T) {
	t.Parallel()
	domain := "git.example.org"
	old := serve(t, "--git", "--domain", domain, "--data", t.TempDir(), "--sync=false", "--admin-listen=")
	owner, now := testkit.Key(1), time.Now().Unix()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	c := dial(t, old.url)
	service, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	announcement := testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", service.CloneURL(owner.PubKey(), "tool")},
		nostr.Tag{"relays", string(service.RelayURL())})
	c.publish(announcement)
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, dir, "push", "-q", cloneURL(t, old.url, owner.PubKey(), "tool"), "main")
	c.publish(testkit.Sign(testkit.Key(2), now, nip34.KindIssue, "it does not build", nostr.Tag{"a", announcement.Address()}))
	fresh := serve(t, "--git", "--domain", domain, "--data", t.TempDir(), "--bootstrap", string(old.url), "--admin-listen=")
	at := cloneURL(t, fresh.url, owner.PubKey(), "tool")
	eventually(t, "the new relay has the git data", func() bool {
		out, _ := exec.Command("git", "ls-remote", at, "refs/heads/main").Output()
		return strings.HasPrefix(string(out), tip)
	})
	eventually(t, "the new relay has the issue", func() bool {
		return dial(t, fresh.url).count(nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue}}) == 1
	})
}

// TestGitDataComesFromAnyGitServer: from git's own server, once the push that was expected has failed.
func TestGitDataComesFromAnyGitServer(t *testing.T) {
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	})
	defer server.Close()
	work := t.TempDir()
	git(t, work, "init", "-q", "-b", "main")
	tip := commitIn(t, work, "one")
	git(t, work, "tag", "-a", "-m", "the first", "v1")
	tag := git(t, work, "rev-parse", "v1")
	git(t, work, "clone", "-q", "--bare", ".", filepath.Join(root, "tool.git"))
	us := serve(t, "--git", "--data", t.TempDir(), "--sync-allow-private", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	owner, now := testkit.Key(1), time.Now().Unix()
	url := cloneURL(t, us.url, owner.PubKey(), "tool")
	c := dial(t, us.url)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", url, "http://127.0.0.1:1/nobody.git", server.URL + "/tool.git"},
		nostr.Tag{"relays", string(us.url)}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"refs/tags/v1", tag}))
	eventually(t, "it is told what is lacked", func() bool {
		_, out, _ := call(t, "", nil, "status", "--repositories", "--admin", base)
		return regexp.MustCompile(`tool +1 events +` + server.URL + `/tool.git +not asked yet`).MatchString(out)
	})
	other := t.TempDir()
	git(t, other, "init", "-q", "-b", "main")
	commitIn(t, other, "another one")
	if out, err := gitIn(t, other, "push", url, "main"); err == nil {
		t.Errorf("not refused: %s", out)
	}
	eventually(t, "what was to be pushed comes from elsewhere", func() bool {
		out, _ := exec.Command("git", "ls-remote", url).Output()
		return strings.Contains(string(out), tip+"\trefs/heads/main\n"+tag+"\trefs/tags/v1\n"+tip+"\trefs/tags/v1^{}")
	})
	eventually(t, "the figures say so", func() bool { // they are counted once everything is served
		return strings.Contains(read(t, base+"/metrics"), "\ngraspd_git_sync_events_total 1\n")
	})
}

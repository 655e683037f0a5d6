package main

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"graspd/internal/grasp"
	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/testkit"
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

// eventually waits until is, and fails where it does not come.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within half a minute: %s", what)
		}
	}
}

// TestAPushToOneRelayIsClonedFromTheOther: two relays that one announcement names complete each other.
func TestAPushToOneRelayIsClonedFromTheOther(t *testing.T) {
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
}

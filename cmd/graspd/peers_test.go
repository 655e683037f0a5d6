package main

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestPrivateServicesCompleteEachOther: two that are members of each other fill themselves with events and git data, with their own keys;
// a third one that only one of them is a member of gets nothing.
func TestPrivateServicesCompleteEachOther(t *testing.T) {
	t.Parallel()
	owner, now, dir := testkit.Key(1), time.Now().Unix(), t.TempDir()
	type service struct {
		address, data, list string
		key                 nostr.PubKey
		url                 grasp.RelayURL
	}
	var all [3]service
	for i := range all {
		s := &all[i]
		s.address, s.data = freeAddress(t), t.TempDir()
		s.url = grasp.RelayURL("ws://" + s.address)
		key, err := node.LoadKey(s.data)
		if err != nil {
			t.Fatal(err)
		}
		s.key = key.PubKey()
		s.list = file(t, nip19.Npub(owner.PubKey())+"\n")
	}
	admit := func(s *service, others ...service) {
		t.Helper()
		text := nip19.Npub(owner.PubKey()) + "\n"
		for _, o := range others {
			text += nip19.Npub(o.key) + "\n"
		}
		overwrite(t, s.list, text)
	}
	a, b, c := &all[0], &all[1], &all[2]
	admit(a, *b)
	admit(b, *a)
	admit(c, *a, *b) // but they do not know c
	var urls, relays []string
	for _, s := range all {
		urls, relays = append(urls, cloneURL(t, s.url, owner.PubKey(), "tool")), append(relays, string(s.url))
	}
	run := map[*service]*running{}
	for i := range all {
		s := &all[i]
		args := []string{"--git", "--listen", s.address, "--data", s.data, "--sync-allow-private", "--sync-base-backoff=200ms", "--sync-batch-window=50ms", "--admin-listen=",
			"--private", "--members", "@" + s.list}
		for j := range all {
			if j != i {
				args = append(args, "--bootstrap", string(all[j].url)) // typed, as they are not encrypted here
			}
		}
		run[s] = serve(t, args...)
	}
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	announcement := testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"private", "true"}, append(nostr.Tag{"clone"}, urls...), append(nostr.Tag{"relays"}, relays...))
	issue := testkit.Issue(owner, now, testkit.RepositoryAddress(owner, "tool"), "it works")
	to, ok := dialAs(t, a.url, owner)
	if !ok.OK {
		t.Fatalf("%+v", ok)
	}
	to.publish(announcement)
	to.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	as := func(url string, args ...string) []string {
		return append([]string{"-c", "http.extraHeader=Authorization: " + credential(t, url, owner)}, args...)
	}
	git(t, dir, as(urls[0], "push", "-q", urls[0], "main")...)
	to.publish(issue)
	at, ok := dialAs(t, b.url, owner)
	if !ok.OK {
		t.Fatalf("%+v", ok)
	}
	eventually(t, "the other service has the issue", func() bool { return at.stored(issue) })
	eventually(t, "the other service has what was pushed", func() bool {
		out, err := gitIn(t, dir, as(urls[1], "ls-remote", urls[1], "refs/heads/main")...)
		return err == nil && strings.HasPrefix(out, tip)
	})
	into := t.TempDir()
	git(t, into, as(urls[1], "clone", "-q", urls[1], "copy")...)
	run[c].logs.await(t, `(relay demands authentication.*restricted)`) // it signs, as it knows them
	third, ok := dialAs(t, c.url, owner)
	if !ok.OK {
		t.Fatalf("%+v", ok)
	}
	if third.stored(issue) || third.stored(announcement) {
		t.Error("a service that is no member has it, too")
	}
}

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// The log tells the day: what is served first, who pushed what and who had signed it, what was refused and why, and what people report.
func TestTheLogTellsTheDay(t *testing.T) {
	t.Parallel()
	us := serve(t, "--git", "--data", t.TempDir(), "--sync=false")
	service, err := grasp.ParseService(strings.TrimPrefix(string(us.url), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	now, owner, c := time.Now().Unix(), testkit.Key(1), dial(t, us.url)
	url := service.CloneURL(owner.PubKey(), "tool")
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", url}, nostr.Tag{"relays", string(us.url)}))
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	if out, err := gitIn(t, dir, "push", url, "main"); err == nil {
		t.Errorf("a push that nobody signed: %s", out)
	}
	us.logs.await(t, `msg="(push refused)" component=hosting repository=30617:[0-9a-f]+:tool took=\S+ cause="[^\n]*state`)
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"d", "tool"}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, dir, "push", "-q", url, "main")
	us.logs.await(t, `msg=push component=hosting repository=30617:[0-9a-f]+:tool took=\S+ count=1 bytes=[1-9][0-9]* (signed_by=`+nip19.Npub(owner.PubKey())+`)`)
	us.logs.await(t, `msg="(repository is served for the first time)" component=hosting repository=30617:[0-9a-f]+:tool`)
	tip = commitIn(t, dir, "two")
	c.publish(testkit.Sign(owner, now+1, nip34.KindState, "", nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"d", "tool"}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, dir, "push", "-q", url, "main")
	c.send(nostr.AppendEventMsg(nil, testkit.Announcement(testkit.Key(2), now, "elsewhere", "wss://other.example.net")))
	us.logs.await(t, `msg="(event refused)" component=ingest event=[0-9a-f]+ kind=30617 cause="`)
	c.next() // its OK
	issue := testkit.Issue(testkit.Key(3), now, testkit.RepositoryAddress(owner, "tool"), "spam")
	c.publish(issue)
	c.publish(testkit.Sign(testkit.Key(4), now, nostr.KindReport, "look at this", nostr.Tag{"e", issue.ID.String(), "spam"}, nostr.Tag{"p", testkit.Key(3).PubKey().String()}))
	us.logs.await(t, `msg="(somebody has reported what is here: graspd reports shows it)" component=reports`)
	if n := strings.Count(us.logs.String(), "served for the first time"); n != 1 {
		t.Errorf("served for the first time %d times", n)
	}
}

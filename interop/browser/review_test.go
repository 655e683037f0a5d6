package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo/repotest"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// reviews is the address of a relay with one repository, and where its pages stand: a pull request of two versions, a series of patches, an issue
// that its maintainer has relabelled, and lists.
func reviews(t *testing.T) (home string, paths map[string]string) {
	t.Helper()
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	program := func(body string) string {
		return "package main\n\nimport \"fmt\"\n\nfunc main() {\n" + body + "}\n"
	}
	many := strings.Repeat("a line of a file that is quite long, as people write them in some languages, and which goes on and on and on\n", 40)
	repo := repotest.New(t, repotest.Commit("main", "Begin", 1_700_000_000, "", "100644 main.go", program("\tfmt.Println(\"hello\")\n"), "100644 README.md", "# Tool\n")+
		repotest.Commit("first", "Greet the reader", 1_700_100_000, "main", "100644 main.go", program("\tfmt.Println(\"hello, reader\")\n"))+
		repotest.Commit("second", "Greet everybody", 1_700_200_000, "main", "100644 main.go", program("\tfor _, name := range names {\n\t\tfmt.Println(\"hello,\", name)\n\t}\n"))+
		repotest.Commit("second", "Say who everybody is", 1_700_300_000, "", "100644 names.go", "package main\n\nvar names = []string{\"Ann\", \"Bo\"}\n", "100644 docs/a/very/long/path/to/a/file/that/does/not/fit/a/phone/names.txt", many)+
		repotest.Commit("clash", "Say goodbye", 1_700_400_000, "main", "100644 main.go", program("\tfmt.Println(\"bye\")\n"))+
		repotest.Commit("main", "Meanwhile", 1_700_500_000, "", "100644 main.go", program("\tfmt.Println(\"hello, world\")\n")))
	n, err := node.New(node.Config{Dir: t.TempDir(), Service: service, Info: nip11.Document{Name: "Our relay"}})
	if err != nil {
		t.Fatal(err)
	}
	owner, author, other := testkit.Key(1), testkit.Key(2), testkit.Key(3)
	now := time.Now().Unix()
	var events []*nostr.Event
	add := func(by nostr.SecretKey, ago int64, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
		e := testkit.Sign(by, now-ago, kind, content, tags...)
		events = append(events, e)
		return e
	}
	a := add(owner, 9000, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"name", "Tool"}, nostr.Tag{"description", "Greets people"}, nostr.Tag{"relays", "wss://relay.example.org"}, nostr.Tag{"clone", "https://relay.example.org/x.git"})
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: a.PubKey, D: "tool"}
	names := nostr.Tag{"a", of.String()}
	pr := add(author, 5000, nip34.KindPullRequest, "It greets **everybody** by name.\n\n- [x] greet\n- [ ] say goodbye\n\n> [!NOTE]\n> Names are in a file.", names, nostr.Tag{"subject", "Greet by name"}, nostr.Tag{"c", repo.ID("first").String()}, nostr.Tag{"clone", "https://a.example/a.git"}, nostr.Tag{"branch-name", "greetings"}, nostr.Tag{"t", "feature"})
	update := add(author, 3000, nip34.KindPullRequestUpdate, "", names, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", repo.ID("second").String()}, nostr.Tag{"clone", "https://a.example/a.git"})
	clash := add(other, 2500, nip34.KindPullRequest, "", names, nostr.Tag{"subject", "Say goodbye"}, nostr.Tag{"c", repo.ID("clash").String()}, nostr.Tag{"clone", "https://a.example/a.git"})
	e := nostr.Tag{"e", pr.ID.String()}
	add(other, 2900, nostr.KindComment, "Looks good in "+repo.ID("second").String()+". What does nostr:"+nip19.Npub(a.PubKey)+" say?[^1]\n\n[^1]: They decide.", nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"K", "1618"}, e, nostr.Tag{"k", "1618"})
	add(owner, 2800, nostr.KindLabel, "", nostr.Tag{"L", "#t"}, nostr.Tag{"l", "good first", "#t"}, e)
	add(owner, 2700, nostr.KindLabel, "", nostr.Tag{"L", "#subject"}, nostr.Tag{"l", "Greet everybody by name", "#subject"}, e)
	add(owner, 2600, nip34.KindStatusDraft, "Say who everybody is first.", nostr.Tag{"e", pr.ID.String(), "", "root"})
	add(other, 2000, 9842, "", names, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", repo.ID("second").String()}, nostr.Tag{"w", ".ngit/workflows/test.yml", "h"}, nostr.Tag{"conclusion", "success"}, nostr.Tag{"r", "run-1"})
	mail := func(subject, diff string) string {
		return "From " + repo.ID("first").String() + " Mon Sep 17 00:00:00 2001\nFrom: Ann <a@example.org>\nDate: Tue, 14 Nov 2023 22:13:20 +0000\nSubject: [PATCH " + subject + "\n\nAs people asked for it.\n---\n main.go | 2 +-\n\n" + diff + "-- \n2.43.0\n"
	}
	patch := add(author, 2400, nip34.KindPatch, mail("1/2] Greet the reader", repo.Git("", "diff", "main~1", "first")), names, nostr.Tag{"t", "root"})
	add(author, 2399, nip34.KindPatch, mail("2/2] Say who", repo.Git("", "diff", "second~1", "second")), names, nostr.Tag{"e", patch.ID.String(), "", "root"})
	for i := range 40 {
		issue := add(other, int64(2300-i), nip34.KindIssue, "It falls.", names, nostr.Tag{"subject", fmt.Sprint("Something falls, and this is the issue with the number ", i)}, nostr.Tag{"t", []string{"bug", "idea", "question"}[i%3]})
		if i%4 == 0 {
			add(owner, int64(1000-i), nip34.KindStatusClosed, "", nostr.Tag{"e", issue.ID.String(), "", "root"})
		}
	}
	add(owner, 8000, nostr.KindMetadata, `{"name":"Olga Owner"}`)
	add(author, 8000, nostr.KindMetadata, `{"name":"Ann Author"}`)
	refs := repo.Refs()
	refs.List = append(refs.List[:0:0], refs.List...)
	for name, branch := range map[string]string{"HEAD": "main", "refs/nostr/" + pr.ID.String(): "first", "refs/nostr/" + update.ID.String(): "second", "refs/nostr/" + clash.ID.String(): "clash"} {
		r, _ := refs.Find("refs/heads/" + branch)
		r.Name = name
		refs.List = append(refs.List, r)
	}
	refs.Sort()
	rules := policy.Rules{Service: service}
	n.Front.Handle(repopage.New(repopage.Config{Store: n.Store, Service: service, Rules: func() policy.Rules { return rules }, Code: gitread.New(repo.Disk, time.Now),
		Find: func(at nip34.Address) (repopage.Repository, bool, error) {
			return repopage.Repository{Dir: repo.At.String(), Generation: 1, Refs: refs}, at == of, nil
		}}).Route())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, node.Listeners{Public: l}) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	})
	source := n.Door.Source(ingest.SourceConfig{Label: "test", Direct: true})
	for _, e := range events {
		var decided sync.WaitGroup
		decided.Add(1)
		if err := source.Submit(ctx, e, store.Direct, func(v policy.Verdict) {
			if v.Outcome != policy.Accept {
				t.Errorf("kind %d: %v", e.Kind, v)
			}
			decided.Done()
		}); err != nil {
			t.Fatal(err)
		}
		decided.Wait()
	}
	base := "/" + nip19.Npub(of.PubKey) + "/tool.git"
	pull := base + "/pulls/" + nip19.Note(pr.ID)
	return "http://" + l.Addr().String(), map[string]string{
		"pull-open": pull, "pull-versions": pull + "?version=2&since=1", "pull-clash": base + "/pulls/" + nip19.Note(clash.ID), "series": base + "/patches/" + nip19.Note(patch.ID), "issues-by-label": base + "/issues?label=bug&status=open",
		"owner": "/" + nip19.Npub(of.PubKey), "missing": base + "/issues/note1x", "nowhere": "/nowhere", "start-rows": "/",
	}
}

// TestTheReviewPages: what people review fits a phone.
func TestTheReviewPages(t *testing.T) {
	home, paths := reviews(t)
	ctx := open(t, 1280, 900)
	for name, path := range paths {
		do(t, ctx, name, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(home+path), chromedp.WaitVisible("h1", chromedp.ByQuery))
		shoot(t, ctx, "review-"+name)
		var wide bool
		do(t, ctx, "narrow", chromedp.EmulateViewport(360, 740), chromedp.Evaluate(`document.documentElement.scrollWidth > 360`, &wide))
		if wide {
			t.Errorf("%s is wider than a phone", name)
		}
		shoot(t, ctx, "review-"+name+"-narrow")
	}
}

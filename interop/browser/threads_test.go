package browser

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

// TestTheThreadPages: the pages of a repository, its lists and one of each kind fit a phone.
func TestTheThreadPages(t *testing.T) {
	home, paths := threads(t)
	ctx := open(t, 1100, 900)
	for _, name := range []string{"home", "repository", "issues", "issue", "patch", "pull"} {
		do(t, ctx, name, chromedp.EmulateViewport(1100, 900), chromedp.Navigate(home+paths[name]), chromedp.WaitVisible("h1", chromedp.ByQuery))
		shoot(t, ctx, "threads-"+name)
		var wide bool
		do(t, ctx, "narrow", chromedp.EmulateViewport(360, 740), chromedp.Evaluate(`document.documentElement.scrollWidth > 360`, &wide))
		if wide {
			t.Errorf("%s is wider than a phone", name)
		}
		shoot(t, ctx, "threads-"+name+"-narrow")
	}
}

// awaits waits for what a script promises.
func awaits(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// threads is the address of a relay with its pages, and where some stand.
func threads(t *testing.T) (home string, paths map[string]string) {
	t.Helper()
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Dir: t.TempDir(), Service: service, Info: nip11.Document{Name: "Our relay", Contact: "mailto:operator@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	rules := policy.Rules{Service: service}
	n.Front.Handle(repopage.New(repopage.Config{Store: n.Store, Service: service, Rules: func() policy.Rules { return rules },
		Find: func(nip34.Address) (repopage.Repository, bool, error) {
			return repopage.Repository{Dir: "data", Refs: &gitwire.Refs{Head: "refs/heads/main"}}, true, nil
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
	now := time.Now().Unix()
	c := corpus.Generate(corpus.Options{Seed: 3, Repositories: 12, Roots: 60, Others: 200, Since: now - 90*86_400, Until: now, Relays: []string{"wss://relay.example.org"}})
	source := n.Door.Source(ingest.SourceConfig{Label: "test", Direct: true})
	var open sync.WaitGroup
	paths = map[string]string{"home": "/"}
	kinds := map[nostr.Kind]string{nip34.KindIssue: "issue", nip34.KindPatch: "patch", nip34.KindPullRequest: "pull"}
	var roots []*nostr.Event
	for e := range c.Events() {
		open.Add(1)
		if kinds[e.Kind] != "" {
			roots = append(roots, e)
		}
		if err := source.Submit(ctx, e, store.Direct, func(policy.Verdict) { open.Done() }); err != nil {
			t.Fatal(err)
		}
	}
	open.Wait()
	for _, e := range roots {
		of := nip34.Repositories(e)
		if _, follows := e.Tags.First("e"); follows || len(of) == 0 || paths[kinds[e.Kind]] != "" {
			continue
		}
		if v := n.Store.View(); true {
			here, err := v.HasAddress(of[0].String())
			if v.Close(); err != nil || !here {
				continue
			}
		}
		base := "/" + nip19.Npub(of[0].PubKey) + "/" + grasp.Escape(of[0].D) + ".git"
		paths[kinds[e.Kind]] = "/" + nip19.Note(e.ID) // which leads to its page
		if e.Kind == nip34.KindIssue {
			paths["repository"], paths["issues"] = base, base+"/issues"
		}
	}
	return "http://" + l.Addr().String(), paths
}

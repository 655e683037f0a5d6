package browser

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/test/corpus"
)

// TestThePublicPage: what it is, how to add it, and its repositories with their links.
func TestThePublicPage(t *testing.T) {
	ctx := open(t, 900, 900)
	var title, relays, client string
	var repositories int
	do(t, ctx, "load", chromedp.Navigate(public(t)), chromedp.Title(&title), chromedp.Text("pre.big", &relays, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelectorAll(".row").length`, &repositories),
		chromedp.Evaluate(`document.querySelector(".row a").href`, &client))
	if title != "Our relay" || relays != "wss://relay.example.org" || repositories < 5 || !strings.HasPrefix(client, "https://gitworkshop.dev/npub1") {
		t.Errorf("%q, %q, %d repositories, %s", title, relays, repositories, client)
	}
	do(t, ctx, "clone", holds(`document.querySelector(".row pre.copy").textContent.startsWith("git clone nostr://")`))
	shoot(t, ctx, "public")
	do(t, ctx, "narrow", chromedp.EmulateViewport(400, 800), holds(`document.documentElement.scrollWidth <= 400`))
	shoot(t, ctx, "public-narrow")
}

// public is the address of a relay that holds a dozen repositories.
func public(t *testing.T) string {
	t.Helper()
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Dir: t.TempDir(), Service: service, Info: nip11.Document{Name: "Our relay", Contact: "mailto:operator@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
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
	c := corpus.Generate(corpus.Options{Seed: 3, Repositories: 12, Roots: 40, Others: 40, Since: now - 90*86_400, Until: now, Relays: []string{"wss://relay.example.org"}})
	source := n.Door.Source(ingest.SourceConfig{Label: "test", Direct: true})
	var open sync.WaitGroup
	for e := range c.Events() {
		open.Add(1)
		if err := source.Submit(ctx, e, store.Direct, func(policy.Verdict) { open.Done() }); err != nil {
			t.Fatal(err)
		}
	}
	open.Wait()
	return "http://" + l.Addr().String() + "/"
}

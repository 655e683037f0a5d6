package browser

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"graspd/internal/corpus"
	"graspd/internal/grasp"
	"graspd/internal/ingest"
	"graspd/internal/nip11"
	"graspd/internal/policy"
	"graspd/internal/relay"
	"graspd/internal/store"
)

// TestThePublicPage: what it is, how to add it, and its repositories with their links.
func TestThePublicPage(t *testing.T) {
	ctx := open(t, 900, 900)
	var title, relays, client string
	var repositories int
	do(t, ctx, "load", chromedp.Navigate(public(t)), chromedp.Title(&title), chromedp.Text("pre.big", &relays, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelectorAll("details").length`, &repositories),
		chromedp.Evaluate(`document.querySelector("details a").href`, &client))
	if title != "Our relay" || relays != "wss://relay.example.org" || repositories < 5 || !strings.HasPrefix(client, "https://gitworkshop.dev/npub1") {
		t.Errorf("%q, %q, %d repositories, %s", title, relays, repositories, client)
	}
	do(t, ctx, "unfold", chromedp.Click("summary", chromedp.ByQuery), holds(`document.querySelector("details[open] pre").textContent.startsWith("git clone nostr://")`))
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
	rules := policy.Rules{Service: service}
	s, err := store.Open(store.Options{Dir: t.TempDir(), Rules: rules.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	door := ingest.New(ingest.Config{Store: s, Rules: rules})
	r, err := relay.New(relay.Config{Store: s, Door: door, Service: service, Info: nip11.Document{
		Name: "Our relay", Contact: "mailto:operator@example.org", RepoAcceptanceCriteria: "Any repository whose announcement names this relay in its relays tag.",
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = door.Run(ctx) })
	running.Go(func() { _ = r.Run(ctx) })
	server := httptest.NewServer(r.Handler())
	t.Cleanup(func() {
		server.Close()
		cancel()
		running.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	now := time.Now().Unix()
	c := corpus.Generate(corpus.Options{Seed: 3, Repositories: 12, Roots: 40, Others: 40, Since: now - 90*86_400, Until: now, Relays: []string{"wss://relay.example.org"}})
	source := door.Source(ingest.SourceConfig{Label: "test", Direct: true})
	var open sync.WaitGroup
	for e := range c.Events() {
		open.Add(1)
		if err := source.Submit(ctx, e, store.Direct, func(policy.Verdict) { open.Done() }); err != nil {
			t.Fatal(err)
		}
	}
	open.Wait()
	return server.URL + "/"
}

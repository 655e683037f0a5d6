package browser

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/admin"
	"github.com/graspd/graspd/internal/grasp"
)

// serve shows the operator's page of a relay among a hundred others.
func serve(t *testing.T) (*community, string) {
	t.Helper()
	all := &community{retried: make(chan grasp.RelayURL, 10)}
	pages := admin.New(admin.Config{
		URL: "wss://relay.example.org", Version: "v1", Store: shelf{}, Door: door{}, Sync: all,
		Clients: func() (int, int) { return int(all.clients.Load()), 230 },
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go pages.Run(ctx)
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	t.Cleanup(cancel) // before the server waits for open pages
	return all, server.URL + "/"
}

// TestTheOperatorsPage: at a hundred relays and a thousand repositories everything
// is there, the script takes what changes, and a relay can be tried again.
func TestTheOperatorsPage(t *testing.T) {
	all, url := serve(t)
	ctx := open(t, 1400, 900)
	var relays, repositories int
	do(t, ctx, "load", chromedp.Navigate(url),
		chromedp.Evaluate(`document.querySelectorAll("#relays tbody tr").length`, &relays),
		chromedp.Evaluate(`document.querySelectorAll("#repositories tbody tr").length`, &repositories))
	if relays != 100 || repositories != 1000 {
		t.Errorf("%d relays and %d repositories are shown", relays, repositories)
	}
	do(t, ctx, "connect", holds(`document.getElementById("link").textContent == "live view"`))
	all.clients.Store(4711)
	do(t, ctx, "change", holds(`document.getElementById("facts").textContent.includes("4\u2009711")`))
	shoot(t, ctx, "operator")
	do(t, ctx, "retry", chromedp.Click("#relays button", chromedp.ByQuery))
	wantRetried(t, all)
	var here string
	do(t, ctx, "stay", chromedp.Location(&here))
	if here != url {
		t.Errorf("the button leads to %s", here)
	}
	do(t, ctx, "narrow", chromedp.EmulateViewport(400, 800), holds(`document.documentElement.scrollWidth <= 400`))
	shoot(t, ctx, "operator-narrow")
}

// TestTheOperatorsPageWithoutScript: it is all there, and its button works.
func TestTheOperatorsPageWithoutScript(t *testing.T) {
	all, url := serve(t)
	ctx := open(t, 1400, 900)
	var relays string
	do(t, ctx, "load", emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(url),
		chromedp.Text("#relays", &relays, chromedp.ByQuery), chromedp.Click("#relays button", chromedp.ByQuery))
	if len(relays) < 5000 {
		t.Errorf("the relays are %d characters", len(relays))
	}
	wantRetried(t, all)
	var here string
	do(t, ctx, "back", chromedp.WaitVisible("#facts", chromedp.ByQuery), chromedp.Location(&here))
	if here != url {
		t.Errorf("the button leads to %s", here)
	}
}

func wantRetried(t *testing.T, all *community) {
	t.Helper()
	select {
	case u := <-all.retried:
		if u != relayOf(7).URL {
			t.Errorf("%s is tried", u)
		}
	case <-time.After(time.Minute):
		t.Error("nothing is tried")
	}
}

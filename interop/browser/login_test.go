package browser

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/signin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// media is the colour scheme that somebody prefers.
func media(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

// gate is a relay whose operator's page is behind a login for testkit.Key(1).
type gate struct{ url string }

func login(t *testing.T) gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service, err := grasp.ParseService(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Dir: t.TempDir(), Service: service, AdminKeys: []nostr.PubKey{testkit.Key(1).PubKey()}})
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
	return gate{service.WebURL() + signin.Path}
}

// extension gives every page a window.nostr (NIP-07) that signs with a key.
func extension(t *testing.T, ctx context.Context, key nostr.SecretKey) {
	t.Helper()
	chromedp.ListenTarget(ctx, func(ev any) {
		call, ok := ev.(*runtime.EventBindingCalled)
		if !ok || call.Name != "askExtension" {
			return
		}
		var e nostr.Event
		var asked struct {
			Kind      nostr.Kind `json:"kind"`
			CreatedAt int64      `json:"created_at"`
			Content   string     `json:"content"`
			Tags      nostr.Tags `json:"tags"`
		}
		if err := json.Unmarshal([]byte(call.Payload), &asked); err != nil {
			t.Error(err)
			return
		}
		e = *testkit.Sign(key, asked.CreatedAt, asked.Kind, asked.Content, asked.Tags...)
		go func() {
			if err := chromedp.Run(ctx, chromedp.Evaluate("extensionSigned("+string(e.AppendJSON(nil))+");0", nil)); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}()
	})
	do(t, ctx, "extension", runtime.Enable(), runtime.AddBinding("askExtension"), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`window.nostr = { signEvent: (e) => new Promise((done) => { window.extensionSigned = done; askExtension(JSON.stringify(e)) }) }`).Do(ctx)
		return err
	}))
}

// TestSigningInWithAnExtension: a stranger's browser stays outside, and says why; the operator's shows the page, live, and is outside
// again once they have signed out.
func TestSigningInWithAnExtension(t *testing.T) {
	g := login(t)
	var said string
	none := open(t, 1000, 800)
	do(t, none, "no extension", chromedp.Navigate(g.url), chromedp.Click("#login", chromedp.ByQuery), holds(`document.getElementById("said").textContent.includes("No extension answers")`))

	stranger := open(t, 1000, 800)
	extension(t, stranger, testkit.Key(2))
	do(t, stranger, "a stranger", chromedp.Navigate(g.url), chromedp.Click("#login", chromedp.ByQuery), holds(`document.getElementById("said").textContent.includes("may not")`),
		chromedp.Text("h1", &said, chromedp.ByQuery))
	if said != "Sign in" {
		t.Errorf("a stranger sees %q", said)
	}

	boss := open(t, 1000, 800)
	extension(t, boss, testkit.Key(1))
	var who, cookie string
	do(t, boss, "the operator", chromedp.Navigate(g.url), chromedp.Click("#login", chromedp.ByQuery), chromedp.WaitVisible("#link", chromedp.ByQuery), live(),
		chromedp.Text("body", &who, chromedp.ByQuery), chromedp.Evaluate("document.cookie", &cookie))
	if !strings.Contains(who, nip19.Npub(testkit.Key(1).PubKey())[:12]) || cookie != "" {
		t.Errorf("the page does not say who has signed in, or a script reads the cookie %q: %.300s", cookie, who)
	}
	shoot(t, boss, "signed-in")
	do(t, boss, "another page", chromedp.Navigate(g.url+"relays"), live(),
		chromedp.Click(`form[action$="logout"] button`, chromedp.ByQuery), chromedp.WaitVisible("#login", chromedp.ByQuery))
}

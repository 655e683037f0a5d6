package browser

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// serve shows the operator's pages of a relay among 500 others, with 10,000 repositories.
func serve(t *testing.T) (*community, string) {
	t.Helper()
	all := &community{retried: make(chan grasp.RelayURL, 10)}
	pages := admin.New(admin.Config{
		URL: "wss://relay.example.org", Version: "v1", Store: shelf{}, Door: door{}, Sync: all, Git: hosting{},
		Relay: all,
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go pages.Run(ctx)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // as if through a unix socket, whose users have the buttons
		pages.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.UnixAddr{Net: "unix"})))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(cancel) // before the server waits for open pages
	return all, server.URL + "/"
}

// count is how many elements there are.
func count(selector string, n *int) chromedp.Action {
	return chromedp.Evaluate(`document.querySelectorAll(`+"`"+selector+"`"+`).length`, n)
}

// live waits until the script is at work.
func live() chromedp.Action {
	return holds(`document.getElementById("link").textContent == "live view"`)
}

// TestTheOperatorsPage: the worst of 500 relays and 10,000 repositories, the script takes what changes, and a relay can be tried again.
func TestTheOperatorsPage(t *testing.T) {
	all, url := serve(t)
	ctx := open(t, 1400, 900)
	var relays, repositories int
	do(t, ctx, "load", chromedp.Navigate(url), count("#relays tbody tr", &relays), count("#repositories tbody tr", &repositories))
	if relays != 50 || repositories != 50 {
		t.Errorf("%d relays and %d repositories are shown", relays, repositories)
	}
	do(t, ctx, "connect", live())
	all.clients.Store(4711)
	do(t, ctx, "change", holds(`document.getElementById("fact-clients").textContent == "4\u2009711"`))
	shoot(t, ctx, "operator")
	do(t, ctx, "retry", chromedp.Click("#relays button", chromedp.ByQuery))
	wantRetried(t, all)
	var here string
	do(t, ctx, "stay", holds(`document.getElementById("link").textContent == "trying `+string(relayOf(7).URL)+`"`), chromedp.Location(&here))
	if here != url {
		t.Errorf("the button leads to %s", here)
	}
}

// TestFocusStays: whoever reads a row or holds a button keeps their place while cells change, rows come and go and change places.
func TestFocusStays(t *testing.T) {
	all, url := serve(t)
	ctx := open(t, 1400, 900)
	const row, here = `document.querySelector("#relays tbody tr")`, `document.activeElement`
	var text string
	do(t, ctx, "focus", chromedp.Navigate(url), live(), chromedp.Evaluate(`window.row = `+row+`; window.button = row.querySelector("button"); button.focus(); row.cells[4].textContent`, &text),
		holds(`row.cells[4].textContent != `+"`"+text+"`"))
	do(t, ctx, "a cell changes", holds(here+` === button && `+row+` === row`))
	// The relay is well: it goes from the worst, once the focus has left it.
	all.healed.Store(true)
	do(t, ctx, "the row goes", holds(`row.className == "gone" && row.isConnected`), holds(`row.contains(`+here+`)`))
	do(t, ctx, "the focus leaves", chromedp.Evaluate(`document.querySelector("#relays tbody tr:nth-child(3) a").focus(); window.held = document.activeElement; true`, nil),
		holds(`!row.isConnected && document.querySelectorAll("#relays tbody tr").length == 50`))
	all.healed.Store(false)
	do(t, ctx, "another comes before it", holds(`document.querySelector("#relays tbody tr th").textContent.includes("`+string(relayOf(7).URL)+`")`), holds(here+` === held`))
}

// TestWhatAPersonDoesStays: what they have typed, selected, scrolled to and opened, while the page takes changes over.
func TestWhatAPersonDoesStays(t *testing.T) {
	all, url := serve(t)
	ctx := open(t, 1400, 900)
	do(t, ctx, "do", chromedp.Navigate(url), live(), chromedp.SendKeys("form[action=repositories] input", "tools", chromedp.ByQuery), chromedp.Evaluate(`
		document.getElementById("legend").open = true;
		const some = document.querySelector("#repositories tbody tr:nth-child(20) a");
		getSelection().selectAllChildren(some);
		scrollTo(0, 900); window.was = [getSelection().toString(), scrollY].join();
		true`, nil))
	all.clients.Store(4711)
	do(t, ctx, "change", holds(`document.getElementById("fact-clients").textContent == "4\u2009711"`))
	do(t, ctx, "stay", holds(`[getSelection().toString(), scrollY].join() === was && was.length > 5 && legend.open && document.querySelector("form[action=repositories] input").value == "tools"`))
}

// TestTheOperatorsPageWithoutScript: it is all there, with search and parts, and its button works.
func TestTheOperatorsPageWithoutScript(t *testing.T) {
	all, url := serve(t)
	ctx := open(t, 1400, 900)
	var relays, found, part, here string
	do(t, ctx, "load", emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(url),
		chromedp.Text("#relays", &relays, chromedp.ByQuery), chromedp.Click("#relays button", chromedp.ByQuery))
	if len(relays) < 4000 {
		t.Errorf("the relays are %d characters", len(relays))
	}
	wantRetried(t, all)
	do(t, ctx, "the page of the relay", chromedp.WaitVisible("#fact-failing", chromedp.ByQuery), chromedp.Location(&here))
	if want := url + "relay?url=wss%3A%2F%2Frelay007.example.net"; here != want {
		t.Errorf("the button leads to %s, want %s", here, want)
	}
	do(t, ctx, "search", chromedp.Click(`nav a[href="repositories"]`, chromedp.ByQuery), chromedp.WaitVisible("h1", chromedp.ByQuery),
		chromedp.SendKeys(`input[name=q]`, "tools-77\r", chromedp.ByQuery), chromedp.WaitVisible(`input[value="tools-77"]`, chromedp.ByQuery),
		chromedp.Text("#repositories-part", &found, chromedp.ByQuery))
	if found != "28 repositories" {
		t.Errorf("%q are found", found)
	}
	do(t, ctx, "the next part", chromedp.Navigate(url+"repositories"), chromedp.Click(`a[rel=next]`, chromedp.ByQuery), chromedp.WaitVisible(`a[rel=prev]`, chromedp.ByQuery),
		chromedp.Text("#repositories-part", &part, chromedp.ByQuery))
	if want := "51 to 100 of 10\u2009000 repositories first previous next last"; part != want {
		t.Errorf("%q, want %q", part, want)
	}
	do(t, ctx, "one repository", chromedp.Click(`#repositories tbody a`, chromedp.ByQuery), chromedp.WaitVisible("#fact-address", chromedp.ByQuery), chromedp.Text("#relays", &relays, chromedp.ByQuery))
	if len(relays) < 50 {
		t.Errorf("its relays are %q", relays)
	}
}

// everyPage are the links to the pages, by name.
var everyPage = map[string]string{
	"overview": "", "relays": "relays", "relays-dead": "relays?state=dead&page=2", "repositories": "repositories?page=3", "none": "relays?q=nothing-fits",
	"relay": "relay?url=wss%3A%2F%2Frelay007.example.net", "repository": "repository?address=30617%3A0000000000000000000000000000000000000000000000000000000000000014%3Arelay-997",
}

// TestOnAPhone: nothing is off the screen at 360 pixels, and tables are cards.
func TestOnAPhone(t *testing.T) {
	_, url := serve(t)
	ctx := open(t, 1400, 900)
	do(t, ctx, "narrow", chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for name, path := range everyPage {
		var wide []string
		do(t, ctx, name, chromedp.Navigate(url+path), live(), chromedp.Evaluate(`[...document.querySelectorAll("body *:not(.unseen, .unseen *, .skip, option)")].filter((e) => {
			const r = e.getBoundingClientRect(); return r.width > 0 && (r.right > 360.5 || r.left < -0.5) }).map((e) => e.outerHTML.slice(0, 100)).slice(0, 3)`, &wide),
			holds(`document.documentElement.scrollWidth <= 360`))
		if len(wide) > 0 {
			t.Errorf("%s: off the screen: %q", name, wide)
		}
		shoot(t, ctx, "phone-"+name)
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

package admin_test

import (
	"context"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/status"
)

type fakeDoor struct{ stats ingest.Stats }

type clients relay.Stats

func (c clients) Stats() relay.Stats { return relay.Stats(c) }

func (d fakeDoor) Stats() ingest.Stats         { return d.stats }
func (fakeDoor) LastRefused() []status.Refused { return nil }

const owner = "aa4fc8665f5696e33db7e1a572e3b0f5b3d615837b0f362dcb1c8068b098c7b4"

// shown is a relay with something of everything.
func shown() admin.Config {
	c := here
	c.Git = host{status: hosted()}
	var refused ingest.Stats
	refused.Refused[policy.Unrelated][0] = 1234
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c.Door = fakeDoor{refused}
	c.Relay = clients{Sessions: 3, Subscriptions: 17}
	c.Sync = fakeSync{relays: relays(), details: map[grasp.RelayURL]status.Details{
		"wss://other.example.net": {
			Parts: []status.Part{
				{Address: "30617:" + owner + ":whole", Roots: 4, Confirmed: 5},
				{Address: "30617:" + owner + ":<script>alert(1)</script>", Roots: 9, Confirmed: 3, Here: 100, Lacks: 8},
			},
			Gaps: []status.Gap{{Found: at, By: "daily", ID: nostr.ID{0xab}, Kind: 1621, Created: at.Add(-time.Hour)}},
		},
		"wss://waiting.example.net": {Parts: []status.Part{{Address: "30617:" + owner + ":whole", Roots: 4}}},
	}}
	return c
}

func TestThePage(t *testing.T) {
	w := get(t, shown(), "GET", "/")
	page := getAsOperator(t, shown(), "/")
	if looked := w.Body.String(); strings.Contains(looked, `<form method="post"`) || !strings.Contains(looked, "Here you look only.") || strings.Contains(page, "Here you look only.") {
		t.Error("who may change nothing has a button, or is not told why there is none")
	}
	if got := w.Header().Get("Referrer-Policy"); got != "same-origin" { // with no-referrer browsers hide the origin of a form
		t.Errorf("Referrer-Policy: %q", got)
	}
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, s := range []string{
		"<h1>wss://relay.example.org</h1>", "151\u2009000", `<dt>relays followed</dt><dd id="fact-tracked">2</dd>`, `<dt>connected</dt><dd id="fact-connected">1</dd>`, `<dt>dead</dt><dd id="fact-dead">1</dd>`,
		"bootstrap relay wss://waiting.example.net is dead", `<span class="state live">live</span>`, `<span class="state dead">dead</span>`, `<span class="why">61 failures: dial: ` + "\uFFFDrefused</span>",
		`again <time class="until" datetime="2026-11-21T12:30:00Z">2026-11-21 12:30:00 UTC</time>`, `name="url" value="wss://waiting.example.net"`, `href="relay?url=wss%3A%2F%2Fwaiting.example.net"`,
		`title="events that the live subscription should have brought">Gaps</th><th scope="col" class="n" title="part of the time watched">Uptime</th><th scope="col" class="n" title="how much of what is here the relay has">Coverage</th>`,
		`data-label="Repositories">49/50</td><td class="n" data-label="Roots">2` + "\u2009" + `498/2` + "\u2009" + `500</td><td class="n" data-label="Events">7` + "\u2009" + `413</td><td class="n" data-label="Gaps"><span class="bad">4</span></td><td class="n" data-label="Uptime">99.8%</td><td class="n" data-label="Coverage">97.0%</td>`,
		`data-label="Events">0</td><td class="n" data-label="Gaps">0</td><td class="n" data-label="Uptime">-</td><td class="n" data-label="Coverage">-</td>`,
		`class="part complete" title="5 of 5 complete"`, `class="part unknown" title="0 of 5 complete"`, `title="3 of 10 complete; the relay lacks 8 events that are here"`,
		"&lt;script&gt;alert(1)&lt;/script&gt;", "2026-11-20 12:00:00", "ab000000", "1\u2009234", "unrelated",
	} {
		if !strings.Contains(page, s) {
			t.Errorf("the page does not have %s", s)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "ZgotmplZ") {
		t.Error("a repository's name is not escaped")
	}
	if strings.Count(page, `<form method="post"`) != 1 {
		t.Error("a connected relay has a button, or one that is not has none")
	}
	if a, b := strings.Index(page, "script&gt;"), strings.Index(page, ">whole"); a > b {
		t.Error("what is least complete does not come first")
	}
	for path, kind := range map[string]string{"/page.css": "text/css", "/page.js": "text/javascript", "/icon.svg": "image/svg+xml"} {
		if w := get(t, shown(), "GET", path); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Body.Len() == 0 {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	if w := get(t, shown(), "GET", "/nothing"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown page: %d", w.Code)
	}
}

// TestStrangersWordsKeepTheirOrder: characters that turn the direction of text stand as escapes, wherever strangers' words stand.
func TestStrangersWordsKeepTheirOrder(t *testing.T) {
	c := shown()
	all := relays()
	all[0].Cause = "refused \u2067here"
	c.Sync = fakeSync{relays: all, details: map[grasp.RelayURL]status.Details{
		"wss://other.example.net": {Parts: []status.Part{{Address: "30617:" + owner + ":a\u202egpj.exe", Roots: 1}}},
	}}
	page := get(t, c, "GET", "/").Body.String()
	for _, want := range []string{`a\u202egpj.exe`, `refused \u2067here`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.ContainsAny(page, "\u202e\u2067") {
		t.Error("the page turns")
	}
}

func TestThePageWithoutAnything(t *testing.T) {
	page := get(t, here, "GET", "/").Body.String()
	if !strings.Contains(page, "graspd fetches from no relay") || !strings.Contains(page, "None: graspd stored all that came") {
		t.Error(page)
	}
	c := here
	c.Sync = fakeSync{}
	if page := get(t, c, "GET", "/").Body.String(); !strings.Contains(page, "No repository here names another relay, and there are no bootstrap relays.") {
		t.Error(page)
	}
}

// local is a request as the operator's own browser makes it.
func local(ctx context.Context, path string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	r.Host = "localhost:7335"
	return r
}

// countedSync counts what it is asked.
type countedSync struct {
	fakeSync
	relays, details *atomic.Int64
}

func (s countedSync) Relays(ctx context.Context) []status.Relay {
	s.relays.Add(1)
	return s.fakeSync.Relays(ctx)
}

func (s countedSync) Details(ctx context.Context) map[grasp.RelayURL]status.Details {
	s.details.Add(1)
	return s.fakeSync.Details(ctx)
}

// TestPagesAreMadeForAll: however many ask, the engine is asked once a second, and once in ten for what is costly to tell.
func TestPagesAreMadeForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var relays, details atomic.Int64
		c := here
		c.Sync = countedSync{fakeSync{relays: nil, details: map[grasp.RelayURL]status.Details{}}, &relays, &details}
		pages, _ := alive(t, c)
		ask := func(path string) {
			w := httptest.NewRecorder()
			if pages.ServeHTTP(w, local(t.Context(), path)); w.Code != http.StatusOK {
				t.Fatalf("%s: %d", path, w.Code)
			}
		}
		ask("/")
		relays.Store(0)
		details.Store(0)
		for range 50 {
			ask("/")
			ask("/repositories.json")
		}
		if relays.Load() != 0 || details.Load() != 0 {
			t.Errorf("asked %d times, and %d times for details", relays.Load(), details.Load())
		}
		time.Sleep(time.Second)
		ask("/")
		if relays.Load() != 1 || details.Load() != 0 {
			t.Errorf("a second later: %d times, and %d times for details", relays.Load(), details.Load())
		}
		time.Sleep(10 * time.Second)
		ask("/repositories.json")
		if details.Load() != 1 {
			t.Errorf("ten seconds later: %d times for details", details.Load())
		}
		time.Sleep(10 * time.Minute)
		if details.Load() > 16 {
			t.Errorf("ten minutes later, while nobody looked: %d times for details", details.Load())
		}
	})
}

func TestRetry(t *testing.T) {
	var tried []grasp.RelayURL
	c := here
	c.Sync = fakeSync{retry: func(u grasp.RelayURL) error {
		if strings.Contains(string(u), "unknown") {
			return errors.New("nothing is wanted of this relay")
		}
		tried = append(tried, u)
		return nil
	}}
	post := func(c admin.Config, header, value string, form url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/retry", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Host = "localhost:7335"
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		admin.New(c).ServeHTTP(w, throughSocket(r))
		return w
	}
	dead := url.Values{"url": {"wss://Dead.example.net/"}}
	for _, x := range []struct {
		name          string
		c             admin.Config
		header, value string
		form          url.Values
		code          int
		text          string
	}{
		{"a program", c, "X-Any", "", dead, 200, "trying wss://dead.example.net\n"},
		{"the page", c, "Sec-Fetch-Site", "same-origin", url.Values{"url": {"wss://dead.example.net"}, "back": {"1"}}, 303, ""},
		{"another site", c, "Sec-Fetch-Site", "cross-site", dead, 403, ""},
		{"another site, in a browser that tells its origin only", c, "Origin", "https://evil.example", dead, 403, ""},
		{"a form without end", c, "X-Any", "", url.Values{"a": {strings.Repeat("x", 33<<10)}, "url": {"wss://dead.example.net"}}, 400, ""},
		{"an unknown relay", c, "X-Any", "", url.Values{"url": {"wss://unknown.example.net"}}, 409, "nothing is wanted of this relay\n"},
		{"no URL", c, "X-Any", "", url.Values{"url": {"ftp://no relay"}}, 400, ""},
		{"no sync", here, "X-Any", "", dead, 409, "this relay does not sync (--sync=false)\n"},
	} {
		w := post(x.c, x.header, x.value, x.form)
		if w.Code != x.code || x.text != "" && w.Body.String() != x.text {
			t.Errorf("%s: %d %q", x.name, w.Code, w.Body)
		}
	}
	if len(tried) != 2 {
		t.Errorf("tried %v", tried)
	}
	if w := get(t, c, "GET", "/retry?url=wss://dead.example.net"); w.Code == http.StatusOK || len(tried) != 2 {
		t.Errorf("a GET: %d", w.Code)
	}
}

// TestRelaysInTroubleComeFirst: bootstrap relays before others; then those that are not complete, then the others.
func TestRelaysInTroubleComeFirst(t *testing.T) {
	c := here
	at := func(name, phase string, health status.Health, connected, bootstrap bool) status.Relay {
		return status.Relay{URL: grasp.RelayURL("wss://" + name), Phase: phase, Health: health, Connected: connected, Bootstrap: bootstrap}
	}
	gap := at("a5", "live", status.Healthy, true, false)
	gap.Gaps = 1
	c.Sync = fakeSync{relays: []status.Relay{
		gap, at("b3", "waiting", status.Dead, false, false), at("c4", "syncing", status.Healthy, true, false), at("g7", "live", status.Degraded, true, false),
		at("d2", "waiting", status.Degraded, false, false), at("e1", "live", status.Healthy, true, true), at("f0", "waiting", status.Dead, false, true),
	}}
	page, last := get(t, c, "GET", "/").Body.String(), 0
	for _, name := range []string{"f0", "d2", "b3", "c4", "a5", "e1", "g7"} {
		i := strings.Index(page, `">wss://`+name)
		if i < last {
			t.Errorf("wss://%s stands at %d, after what comes behind it", name, i)
		}
		last = i
	}
}

// TestTheLegendHasEveryState: whatever the pages call the state of a relay or a repository, the legend explains it.
func TestTheLegendHasEveryState(t *testing.T) {
	pages := admin.New(large(0))
	page := askPage(t.Context(), pages, "/").Body.String()
	chips := regexp.MustCompile(`<a class="chip" href="[^"]*"[^>]*>([^<]*) <b>`)
	shown := regexp.MustCompile(`<span class="state [^"]*">([^<]*)</span>`)
	words := map[string]bool{}
	for _, re := range []*regexp.Regexp{chips, shown} {
		for _, m := range re.FindAllStringSubmatch(page, -1) {
			words[m[1]] = true
		}
	}
	delete(words, "all")
	for _, state := range status.States() {
		words[state.Name] = true
	}
	for _, state := range admin.RepositoryStates() {
		words[state] = true
	}
	if !words["incomplete"] || !words["syncing"] {
		t.Fatalf("the states that are shown are not found: %v", words)
	}
	for word := range words {
		if !strings.Contains(page, "<dt>"+word+"</dt>") {
			t.Errorf("the legend lacks %q", word)
		}
	}
}

// TestTheLegendHasEveryColumnAndFigure: whatever stands over a column or beside a figure has its words in the legend, but for what needs none.
func TestTheLegendHasEveryColumnAndFigure(t *testing.T) {
	plain := regexp.MustCompile(`^(relay|repository|event|kind|by|reason|what|why|for|when \(utc\)|until \(utc\)|found \(utc\)|asked last|address|owner)$`)
	pages := admin.New(large(200))
	overview := askPage(t.Context(), pages, "/").Body.String()
	var words []string
	for _, m := range regexp.MustCompile(`<dt>([^<]*)</dt><dd>`).FindAllStringSubmatch(overview[strings.Index(overview, `id="legend"`):], -1) {
		words = append(words, m[1])
	}
	shown := regexp.MustCompile(`<dt>([^<]*)</dt>|<th scope="col"[^>]*>([^<]+)</th>`)
	links := regexp.MustCompile(`href="(relay|repository)\?[^"]*"`).FindAllString(overview, -1)
	seen := 0
	for _, path := range []string{"", firstOf(links, `href="relay?`), firstOf(links, `href="repository?`)} {
		page := askPage(t.Context(), pages, "/"+path).Body.String()
		for _, m := range shown.FindAllStringSubmatch(page[:strings.Index(page, `id="legend"`)], -1) {
			name := strings.ToLower(m[1] + m[2])
			if name == "" || plain.MatchString(name) {
				continue
			}
			seen++
			if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(" "+name+" ", " "+w+" ") }) {
				t.Errorf("%q: the legend does not explain %q", path, name)
			}
		}
	}
	for _, kind := range gitproc.Kinds() {
		if !slices.Contains(words, kind.String()) {
			t.Errorf("the legend does not explain processes for %q", kind)
		}
	}
	if seen < 40 {
		t.Errorf("%d columns and figures are found", seen)
	}
}

// firstOf is the first of these links that begins so, without the quotes around it.
func firstOf(links []string, begin string) string {
	i := slices.IndexFunc(links, func(s string) bool { return strings.HasPrefix(s, begin) })
	return html.UnescapeString(strings.Trim(strings.TrimPrefix(links[i], "href="), `"`))
}

// What the disk has left stands on the page as in status.
func TestPageTellsWhatIsFree(t *testing.T) {
	c := here
	c.Store = fakeStore{stats: here.Store.Stats(), disk: store.Disk{Free: 5 << 30, Floor: 1 << 30}}
	if page := get(t, c, "GET", "/").Body.String(); !strings.Contains(page, `<dt>free on the disk</dt><dd id="fact-free">5.0 GiB</dd>`) {
		t.Errorf("%s", page)
	}
}

// A list of one says so.
func TestAListOfOne(t *testing.T) {
	c := here
	c.Sync = fakeSync{relays: relays()[:1]}
	if page := get(t, c, "GET", "/").Body.String(); !strings.Contains(page, "<span>1 relay</span>") {
		t.Errorf("%s", page)
	}
}

// The list of repositories says that those which name this relay alone are not in it: their number is another one than that of the facts.
func TestTheListOfRepositoriesSaysWhichAreInIt(t *testing.T) {
	pages := admin.New(large(0))
	for path, want := range map[string]string{
		"/": "Repositories <small>that name another relay; those with troubles first</small>", "/repositories": "<h1>Repositories <small>that name another relay</small></h1>",
		"/repositories?q=nowhere": "No repository that names another relay fits the search.",
	} {
		if page := askPage(t.Context(), pages, path).Body.String(); !strings.Contains(page, want) {
			t.Errorf("%s: no %q", path, want)
		}
	}
}

// While nothing is kept here the page says so in whole sentences.
func TestPageOfARelayThatKeepsNothing(t *testing.T) {
	c := here
	c.Node = whole{nothing: &status.Nothing{Relay: "wss://relay.example.org"}}
	if page := get(t, c, "GET", "/").Body.String(); !strings.Contains(page, "<p>No announcement has come since the start.</p>") {
		t.Errorf("%s", page)
	}
	told := c.Node.Nothing()
	c.Store = fakeStore{stats: here.Store.Stats(), room: store.ErrFull}
	if page := get(t, c, "GET", "/").Body.String(); !strings.Contains(page, "<p>Every event is refused, as graspd stores nothing: the free disk space is at its floor (--disk-floor).</p><ul><li>at first make room") {
		t.Errorf("on a full disk: %s", page)
	}
	if told.Full != "" {
		t.Error("what the node tells was changed")
	}
}

// TestThePagesOfOne: a relay's page has the repositories that name it and how they stand there, a repository's has its relays.
func TestThePagesOfOne(t *testing.T) {
	cells := func(path string) (rows []string) {
		page := get(t, shown(), "GET", path).Body.String()
		for _, row := range regexp.MustCompile(`<tr id="[pr]-[0-9a-f]{20}">.*</tr>`).FindAllString(page, -1) {
			rows = append(rows, strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(row, " ")), " "))
		}
		return rows
	}
	for path, want := range map[string][]string{
		"/relay?url=wss://waiting.example.net":            {"whole aa4fc866 unknown 0/5 -"},
		"/relay?url=wss://other.example.net":              {"&lt;script&gt;alert(1)&lt;/script&gt; aa4fc866 partial 3/10 8", "whole aa4fc866 complete 5/5 -"},
		"/repository?address=30617:" + owner + ":whole":   {"wss://waiting.example.net bootstrap dead", "wss://other.example.net live 7 roots in turns of 1 h 0 min refuses 1 repositories complete 5/5 - -"},
		"/repository?address=30617:" + owner + ":nothing": nil,
	} {
		rows := cells(path)
		if len(rows) != len(want) {
			t.Errorf("%s: %q", path, rows)
			continue
		}
		for i, row := range rows {
			if !strings.HasPrefix(row, want[i]) {
				t.Errorf("%s: %q", path, row)
			}
		}
	}
}

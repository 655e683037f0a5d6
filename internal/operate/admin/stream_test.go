package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/admin/pagediff"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

// changingSync is an engine whose relays change.
type changingSync struct {
	*fakeSync
	mu *sync.Mutex // guards the relays
}

func (s changingSync) Relays(context.Context) []status.Relay {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.fakeSync.relays)
}

// change gives the engine other relays.
func (s changingSync) change(do func(relays []status.Relay)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fakeSync.relays = slices.Clone(s.fakeSync.relays)
	do(s.fakeSync.relays)
}

// heard is an answer that is read while it is written.
type heard struct {
	*httptest.ResponseRecorder
	mu *sync.Mutex
}

func (h heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ResponseRecorder.Write(b)
}

func (h heard) WriteString(s string) (int, error) { return h.Write([]byte(s)) }

func (h heard) Flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ResponseRecorder.Flush()
}

func (h heard) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Body.String()
}

// loaded is a page as a browser has it.
type loaded struct{ of, version string }

var attributes = regexp.MustCompile(`<body data-of="([^"]*)" data-version="([^"]*)">`)

func load(t *testing.T, pages http.Handler, path string) loaded {
	t.Helper()
	w := askPage(t.Context(), pages, path)
	m := attributes.FindStringSubmatch(w.Body.String())
	if w.Code != http.StatusOK || m == nil {
		t.Fatalf("%s: %d %.300s", path, w.Code, w.Body)
	}
	return loaded{strings.ReplaceAll(m[1], "&amp;", "&"), m[2]}
}

// follow opens the stream of a page in a bubble. What came since the last call is told when the bubble rests.
func follow(ctx context.Context, pages http.Handler, l loaded, lastID string) (came func() string) {
	w, read := heard{httptest.NewRecorder(), new(sync.Mutex)}, 0
	r := local(ctx, "/changes?"+url.Values{"of": {l.of}, "version": {l.version}}.Encode())
	r.Header.Set("Last-Event-ID", lastID)
	go pages.ServeHTTP(w, r)
	return func() string {
		synctest.Wait()
		s := w.said()[read:]
		read += len(s)
		return s
	}
}

// event reads one event.
func event(t *testing.T, s string) (id string, p pagediff.Patch) {
	t.Helper()
	for line := range strings.Lines(s) {
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(v), &p); err != nil {
				t.Fatal(err)
			}
		}
	}
	return id, p
}

// alive is pages that run, in a bubble.
func alive(t *testing.T, c admin.Config) (*admin.Pages, context.Context) {
	pages := admin.New(c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); pages.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	synctest.Wait()
	return pages, ctx
}

// TestOnlyWhatChangedIsSent: into the cell that changed, and nothing while nothing does.
func TestOnlyWhatChangedIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shown()
		var clients atomic.Int64
		clients.Store(3)
		c.Clients = func() (int, int) { return int(clients.Load()), 17 }
		f := c.Sync.(fakeSync)
		engine := changingSync{&f, new(sync.Mutex)}
		c.Sync = engine
		pages, ctx := alive(t, c)
		page := load(t, pages, "/")
		came := follow(ctx, pages, page, "")
		if s := came(); s != ":\n\n" {
			t.Fatalf("a page that was just loaded hears %s", s)
		}
		clients.Store(4)
		time.Sleep(2 * time.Second)
		s := came()
		id, p := event(t, s)
		if len(p.Cells) != 1 || p.Cells["fact-clients"] != "4" || len(p.Rows)+len(p.Tables) > 0 {
			t.Errorf("%s", s)
		}
		if again := load(t, pages, "/"); again.version != id {
			t.Errorf("the page is at %s, the stream at %s", again.version, id)
		}

		engine.change(func(relays []status.Relay) { relays[1].Live++ })
		time.Sleep(2 * time.Second)
		s = came()
		if _, p = event(t, s); len(p.Cells)+len(p.Tables) > 0 || len(p.Rows) != 1 {
			t.Errorf("one event more: %s", s)
		}
		for _, cells := range p.Rows {
			if len(cells) != 1 || cells[4] != "7\u2009414" {
				t.Errorf("one event more: %v", cells)
			}
		}

		engine.change(func(relays []status.Relay) {
			relays[1].Bootstrap, relays[1].Connected, relays[1].Phase = true, false, "dialing" // both are the worst, by URL
		})
		time.Sleep(2 * time.Second)
		s = came()
		if _, p = event(t, s); len(p.Tables["relays"].IDs) != 2 || len(p.Tables["relays"].New) > 0 {
			t.Errorf("another order: %s", s)
		}
		last, _ := event(t, s)

		// Somebody who comes back says what they have, and goes on from there.
		if s := follow(ctx, pages, page, last)(); s != ":\n\n" {
			t.Errorf("who comes back hears %s", s)
		}
		s = follow(ctx, pages, loaded{of: "./", version: "unknown"}, "")()
		if _, p = event(t, s); len(p.Tables["relays"].New) != 2 || len(p.Cells) < 10 {
			t.Errorf("who shows what nobody knows hears %s", s)
		}
	})
}

// TestTheStreamAtRest: a page of 10,000 repositories and 500 relays of which nothing changes costs next to nothing.
func TestTheStreamAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages, ctx := alive(t, large(0))
		came := follow(ctx, pages, load(t, pages, "/"), "")
		came()
		time.Sleep(4 * time.Minute)
		if s := came(); len(s) > 12*len(":\n\n") {
			t.Errorf("%d bytes within four minutes: %.500s", len(s), s)
		}
	})
}

// TestStreamsOfEveryPage: each is kept up to date, and what is no page is refused.
func TestStreamsOfEveryPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shown()
		f := c.Sync.(fakeSync)
		engine := changingSync{&f, new(sync.Mutex)}
		c.Sync = engine
		pages, ctx := alive(t, c)
		told := map[string]func() string{}
		for _, path := range []string{"/relays?q=other", "/relay?url=wss://other.example.net", "/repository?address=30617:" + owner + ":whole"} {
			told[path] = follow(ctx, pages, load(t, pages, path), "")
			told[path]()
		}
		engine.change(func(relays []status.Relay) { relays[1].Cause, relays[1].Failures = "it says no", 1 })
		time.Sleep(2 * time.Second)
		for path, came := range told {
			if s := came(); !strings.Contains(s, "it says no") {
				t.Errorf("%s hears %s", path, s)
			}
		}
		for _, of := range []string{"nothing", "relays?page=0", "relays?state=well", "%", "relays?q=" + strings.Repeat("x", 301)} {
			if w := askPage(ctx, pages, "/changes?of="+url.QueryEscape(of)); w.Code != http.StatusBadRequest {
				t.Errorf("%.20s: %d", of, w.Code)
			}
		}
	})
}

// TestManyViewersShareOneLook: sixteen pages that are kept up to date, of different parts, ask the engine as often as one.
func TestManyViewersShareOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var relays, details atomic.Int64
		c := here
		c.Sync = countedSync{fakeSync{details: map[grasp.RelayURL]status.Details{}}, &relays, &details}
		pages, ctx := alive(t, c)
		for i := range 16 {
			follow(ctx, pages, loaded{of: "repositories?q=" + strings.Repeat("x", i)}, "")
		}
		synctest.Wait()
		relays.Store(0)
		details.Store(0)
		time.Sleep(time.Minute)
		if relays.Load() > 30+6+1 || details.Load() > 6 {
			t.Errorf("within a minute the engine is asked %d times, and %d times for what is costly", relays.Load(), details.Load())
		}
	})
}

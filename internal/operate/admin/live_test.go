package admin_test

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
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

// again asks for a page as the script of a browser does that has a version of it.
func again(ctx context.Context, pages http.Handler, path, version string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), local(ctx, path)
	r.Header.Set("If-None-Match", version)
	pages.ServeHTTP(w, r)
	return w
}

// TestAPageThatIsAsItWasIsNotSentAgain: a browser that shows a page gets it once something of it has changed, and each page at its own time.
func TestAPageThatIsAsItWasIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shown()
		f := c.Sync.(fakeSync)
		engine := changingSync{&f, new(sync.Mutex)}
		c.Sync = engine
		pages, ctx := alive(t, c)
		has := map[string]string{"/": "", "/relays?q=other": "", "/relay?url=wss://other.example.net": "", "/repository?address=30617:" + owner + ":whole": ""}
		for path := range has {
			w := askPage(ctx, pages, path)
			has[path] = w.Header().Get("ETag")
			if w.Code != http.StatusOK || has[path] == "" || !strings.Contains(w.Body.String(), ` data-version="`+html.EscapeString(has[path])+`"`) {
				t.Fatalf("%s: %d %v %.600s", path, w.Code, w.Header(), w.Body)
			}
		}
		time.Sleep(time.Minute)
		for path, version := range has {
			if w := again(ctx, pages, path, version); w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d, %d bytes %v", path, w.Code, w.Body.Len(), w.Header())
			}
		}
		engine.change(func(relays []status.Relay) { relays[1].Cause, relays[1].Failures = "it says no", 1 })
		time.Sleep(time.Second)
		for path, version := range has {
			w := again(ctx, pages, path, version)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "it says no") || w.Header().Get("ETag") == version {
				t.Errorf("%s: %d %v %.600s", path, w.Code, w.Header(), w.Body)
			}
		}
		if w := again(ctx, pages, "/relay?url=wss://gone.example.net", has["/"]); w.Code != http.StatusNotFound || w.Header().Get("ETag") != "" {
			t.Errorf("what is not here: %d %v", w.Code, w.Header())
		}
	})
}

// TestWhatIsNoPageIsRefused: with what was wrong.
func TestWhatIsNoPageIsRefused(t *testing.T) {
	for _, path := range []string{"/relays?page=0", "/relays?state=well", "/relays?q=" + strings.Repeat("x", 301)} {
		if w := get(t, shown(), "GET", path); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), ": want ") {
			t.Errorf("%.20s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestManyViewersShareOneLook: sixteen open pages, of different parts, ask the engine as often as one.
func TestManyViewersShareOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var relays, details atomic.Int64
		c := here
		c.Sync = countedSync{fakeSync{details: map[grasp.RelayURL]status.Details{}}, &relays, &details}
		pages, ctx := alive(t, c)
		for range 12 {
			for i := range 16 {
				if w := askPage(ctx, pages, "/repositories?q="+strings.Repeat("x", i)); w.Code != http.StatusOK {
					t.Fatal(w.Code)
				}
			}
			time.Sleep(5 * time.Second)
		}
		if relays.Load() > 1+12+6+1 || details.Load() > 1+6 {
			t.Errorf("within a minute the engine is asked %d times, and %d times for what is costly", relays.Load(), details.Load())
		}
	})
}

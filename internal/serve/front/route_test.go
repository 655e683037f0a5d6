package front_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/serve/front"
)

// TestRoutes: the first route that takes a request answers it, then one that takes everything, wherever it was added; a fault in one is
// the end of that request.
func TestRoutes(t *testing.T) {
	faults := contain.New(nil, nil)
	f := front.New(front.Config{Faults: faults})
	says := func(what string) func(http.ResponseWriter, *http.Request, front.Client) {
		return func(w http.ResponseWriter, _ *http.Request, from front.Client) {
			io.WriteString(w, what+" to "+from.Addr.String())
		}
	}
	under := func(prefix string) func(*http.Request) bool {
		return func(req *http.Request) bool { return strings.HasPrefix(req.URL.Path, prefix) }
	}
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodGet, path, nil)
		req.RemoteAddr = "198.51.100.1:5"
		f.Handler().ServeHTTP(w, req)
		return w.Code, w.Body.String()
	}
	if code, _ := ask("/"); code != http.StatusNotFound {
		t.Errorf("without a route: %d", code)
	}
	f.Handle(front.Route{Serve: says("rest")})
	f.Handle(front.Route{Serve: says("never")})
	f.Handle(front.Route{Takes: under("/a/b"), Serve: says("ab")})
	f.Handle(front.Route{Takes: under("/a"), Serve: says("a")})
	f.Handle(front.Route{Takes: under("/fault"), Serve: func(http.ResponseWriter, *http.Request, front.Client) { panic("planted") }})
	for path, want := range map[string]string{"/": "rest", "/a": "a", "/a/b/c": "ab", "/b": "rest"} {
		if code, got := ask(path); code != http.StatusOK || got != want+" to 198.51.100.1" {
			t.Errorf("%s: %d %q", path, code, got)
		}
	}
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("a fault does not end its request")
			}
		}()
		ask("/fault")
	}()
	if n, _ := faults.Seen(); n != 1 {
		t.Errorf("%d faults", n)
	}
	if left := f.Unreturned(); len(left) > 0 {
		t.Errorf("not given back: %s", left)
	}
}

// TestDrainWaitsUntilAllIsGivenBack, not only until the route is done. So many wait that the first ones look while others are still being woken.
func TestDrainWaitsUntilAllIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := front.New(front.Config{})
		f.Handle(front.Route{Serve: func(http.ResponseWriter, *http.Request, front.Client) { time.Sleep(time.Second) }})
		for range 10 {
			req := httptest.NewRequest(http.MethodGet, "/", nil)
			req.RemoteAddr = "198.51.100.1:5"
			go f.Handler().ServeHTTP(httptest.NewRecorder(), req)
			synctest.Wait()
			for range 1000 {
				go func() {
					if err := f.Drain(t.Context()); err != nil {
						t.Error(err)
					}
					if left := f.Unreturned(); len(left) > 0 {
						t.Errorf("not given back: %s", left)
					}
				}()
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
	})
}

package front_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/graspd/graspd/internal/serve/front"
)

// TestAClientLearnsItsAddress: as the limits have it, behind a trusted proxy and before one that is not.
func TestAClientLearnsItsAddress(t *testing.T) {
	f := front.New(front.Config{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	f.Handle(front.AddressRoute("/base"))
	ask := func(method, path, from, forwarded string) (int, string) {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(method, path, nil)
		req.RemoteAddr = from
		if forwarded != "" {
			req.Header.Set("X-Forwarded-For", forwarded)
		}
		f.Handler().ServeHTTP(w, req)
		return w.Code, w.Body.String()
	}
	const path = "/base/.well-known/graspd/address"
	for _, c := range []struct{ from, forwarded, want string }{
		{"198.51.100.1:5", "", "198.51.100.1\n"},
		{"198.51.100.1:5", "192.0.2.77", "198.51.100.1\n"},
		{"127.0.0.1:5", "192.0.2.77, 203.0.113.9", "203.0.113.9\n"},
		{"[2001:db8::1]:5", "", "2001:db8::1\n"},
	} {
		if code, got := ask(http.MethodGet, path, c.from, c.forwarded); code != http.StatusOK || got != c.want {
			t.Errorf("%+v: %d %q", c, code, got)
		}
	}
	if code, _ := ask(http.MethodPost, path, "198.51.100.1:5", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", code)
	}
	if code, _ := ask(http.MethodGet, "/.well-known/graspd/address", "198.51.100.1:5", ""); code != http.StatusNotFound {
		t.Errorf("beside the base: %d", code)
	}
	for range 2000 {
		if code, _ := ask(http.MethodGet, path, "198.51.100.2:5", ""); code == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("it is asked without a bound")
}

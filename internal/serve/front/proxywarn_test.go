package front_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/serve/front"
)

// A web server on this machine that names clients, and whom nobody trusts, is a warning, once; what comes from elsewhere is none.
func TestAProxyThatNobodyTrustsIsAWarning(t *testing.T) {
	for _, c := range []struct {
		proxies        []netip.Prefix
		from, forwards string
		want           int
	}{
		{nil, "127.0.0.1:5000", "198.51.100.7", 1}, {nil, "[::1]:5000", "198.51.100.7", 1}, {nil, "127.0.0.1:5000", "", 0},
		{nil, "203.0.113.9:5000", "198.51.100.7", 0}, {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "127.0.0.1:5000", "198.51.100.7", 0},
		{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "127.0.0.1:5000", "198.51.100.7", 0},
	} {
		var log bytes.Buffer
		f := front.New(front.Config{Proxies: c.proxies, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		f.Handle(front.Route{Takes: func(*http.Request) bool { return true }, Serve: func(http.ResponseWriter, *http.Request, front.Client) {}})
		h := f.Handler()
		for range 3 {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.RemoteAddr = c.from
			if c.forwards != "" {
				r.Header.Set("X-Forwarded-For", c.forwards)
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != c.want || n > 0 && !strings.Contains(log.String(), "--trusted-proxies") {
			t.Errorf("%+v: %d warnings:\n%s", c, n, &log)
		}
	}
}

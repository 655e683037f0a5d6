package admin_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/graspd/graspd/internal/operate/admin"
)

// TestPagesOfOthersGetNothing: neither by a name that was made to lead here, nor
// embedded into another site; a link is followed.
func TestPagesOfOthersGetNothing(t *testing.T) {
	c := here
	c.Hosts = []string{"Status.example.org"}
	for _, x := range []struct {
		host, site, mode string
		code             int
	}{
		{"127.0.0.1:7335", "", "", 200}, {"[::1]:7335", "", "", 200}, {"::1", "", "", 200}, {"localhost:7335", "", "", 200}, {"graspd:7335", "", "", 200},
		{"status.example.org", "", "", 200}, {"status.example.org.:7335", "", "", 200},
		{"rebound.example.net:7335", "", "", 421}, {"127.0.0.1.example.net", "", "", 421}, {"x.status.example.org", "", "", 421},
		{"127.0.0.1:7335", "cross-site", "no-cors", 403}, {"127.0.0.1:7335", "cross-site", "cors", 403},
		{"127.0.0.1:7335", "cross-site", "navigate", 200}, {"127.0.0.1:7335", "same-origin", "cors", 200}, {"127.0.0.1:7335", "none", "navigate", 200},
	} {
		for _, path := range []string{"/", "/status.json"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = x.host
			r.Header.Set("Sec-Fetch-Site", x.site)
			r.Header.Set("Sec-Fetch-Mode", x.mode)
			w := httptest.NewRecorder()
			if admin.New(c).ServeHTTP(w, r); w.Code != x.code {
				t.Errorf("%s of %s, %s %s: %d, want %d", path, x.host, x.site, x.mode, w.Code, x.code)
			}
		}
	}
}

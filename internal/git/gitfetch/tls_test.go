package gitfetch_test

import (
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestOverTLS fetches with a certificate that is checked, and follows no redirect away from it.
func TestOverTLS(t *testing.T) {
	dir := story(t)
	h := &host{t: t, dir: dir, version: 2}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/away") {
			http.Redirect(w, q, "http://"+q.Host+"/some/r.git/info/refs?service=git-upload-pack", http.StatusFound)
			return
		}
		if q.ProtoMajor != 1 {
			t.Error(q.Proto)
		}
		h.ServeHTTP(w, q)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := gitfetch.New(gitfetch.Config{Net: publicnet.Config{AllowPrivate: true, RootCAs: roots}})
	mine := repository(t, "")
	var packs []string
	main := idOf(t, dir, "main")
	t.Setenv("HTTPS_PROXY", "http://9.9.9.9:3128")
	res, err := c.Fetch(t.Context(), gitfetch.Request{URL: s.URL + "/some/r.git", Groups: [][]gitwire.ObjectID{{main}}, Pack: into(t, mine, &packs)})
	if err != nil || res.Requests != 3 || len(h.from) != 1 {
		t.Fatalf("%+v over %d connections, %v", res, len(h.from), err)
	}
	has(t, mine, main)
	if _, err := c.Advertised(t.Context(), gitfetch.Request{URL: s.URL + "/away"}); err == nil || !strings.Contains(err.Error(), "another scheme") {
		t.Errorf("a redirect: %v", err)
	}
	_, err = local(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: s.URL + "/some/r.git"})
	if unknown, is := errors.AsType[x509.UnknownAuthorityError](err); !is {
		t.Errorf("a certificate that nobody vouches for: %v, %v", err, unknown)
	}
}

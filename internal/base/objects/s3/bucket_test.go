package s3_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/base/objects/s3"
	"github.com/graspd/graspd/internal/base/objects/s3/s3test"
)

const secret = s3test.Secret

// begin starts a server, and returns how every request gets there.
func begin(t testing.TB, s *s3test.Server) http.RoundTripper {
	t.Helper()
	listener := httptest.NewTLSServer(s)
	t.Cleanup(listener.Close)
	through := listener.Client().Transport.(*http.Transport).Clone()
	through.DisableCompression = true
	through.TLSClientConfig.ServerName = "example.com" // what its certificate says
	through.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, listener.Listener.Addr().String())
	}
	t.Cleanup(through.CloseIdleConnections)
	return through
}

func open(t testing.TB, s *s3test.Server, prefix string) *s3.Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	b, err := s3.Open(s3.Location{Bucket: "name", Prefix: prefix, Endpoint: "s3.example.com", Region: s3test.Region}, begin(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestContract(t *testing.T) {
	for _, prefix := range []string{"", "some/prefix"} {
		objecttest.Contract(t, func(t testing.TB) objects.Store { return open(t, &s3test.Server{Has: new(objecttest.Memory)}, prefix) })
	}
}

// TestPrefixesAreApart: two prefixes of one bucket do not see each other.
func TestPrefixesAreApart(t *testing.T) {
	m := new(objecttest.Memory)
	one, other := open(t, &s3test.Server{Has: m}, "a"), open(t, &s3test.Server{Has: m}, "ab")
	for i, b := range []*s3.Bucket{one, other} {
		if o, err := b.Put(t.Context(), "x", strings.NewReader(fmt.Sprint(i))); o != objects.Done || err != nil {
			t.Fatal(o, err)
		}
	}
	for i, b := range []*s3.Bucket{one, other} {
		got, err := b.Get(t.Context(), "x", 0, 9)
		page, err2 := b.List(t.Context(), "", "", 9)
		if err := errors.Join(err, err2); err != nil || string(got) != fmt.Sprint(i) || len(page) != 1 || page[0].Name != "x" {
			t.Errorf("%q, %v, %v", got, page, err)
		}
	}
	if page, err := m.List(t.Context(), "", "", 9); err != nil || len(page) != 2 || page[0].Name != "a/x" || page[1].Name != "ab/x" {
		t.Errorf("%v, %v", page, err)
	}
}

// each asks a store each thing, and returns what it says.
func each(t testing.TB, s objects.Store) map[string]error {
	o, err := s.Put(t.Context(), "x", strings.NewReader("body"))
	if o != objects.Unknown {
		t.Errorf("put: %v, %v", o, err)
	}
	all := map[string]error{"put": err, "delete": s.Delete(t.Context(), "x")}
	_, all["get"] = s.Get(t.Context(), "x", 0, 4)
	_, all["list"] = s.List(t.Context(), "", "", 4)
	return all
}

// TestWhatAStoreRefuses: each request is made once, and its error says what the store said, without a secret.
func TestWhatAStoreRefuses(t *testing.T) {
	for code, c := range map[string]struct {
		status int
		says   string
	}{
		"AccessDenied": {403, "the keys have to allow"}, "SignatureDoesNotMatch": {403, "the secret key is not"}, "InvalidAccessKeyId": {403, "does not know the access key"},
		"RequestTimeTooSkewed": {403, "the clock"}, "NoSuchBucket": {404, "there is no such bucket"}, "PermanentRedirect": {301, "in another region"},
		"AuthorizationHeaderMalformed": {400, "in another region"}, "NotImplemented": {501, "conditional writes"}, "ConditionalRequestConflict": {409, ""},
		"InternalError": {500, ""}, "SlowDown": {503, ""}, "RequestTimeout": {400, ""}, "BadGateway": {502, ""}, "TooManyRequests": {429, ""},
	} {
		s := &s3test.Server{Instead: func(w http.ResponseWriter, r *http.Request) bool { s3test.Refuse(w, c.status, code); return true }}
		b := open(t, s, "")
		before := s.Asked.Load()
		for op, err := range each(t, b) {
			if err == nil || errors.Is(err, objects.ErrNone) || !strings.Contains(err.Error(), code) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "bucket name") || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %s: %v", op, code, err)
			}
		}
		if n := s.Asked.Load() - before; n != 4 {
			t.Errorf("%s: %d requests for 4", code, n)
		}
	}
}

// TestAnswersThatAreCut: nothing counts as said that was not said to the end.
func TestAnswersThatAreCut(t *testing.T) {
	for name, cut := range map[string]func(http.ResponseWriter){
		"before it": func(http.ResponseWriter) {},
		"in a body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "4")
			w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 12:00:00 GMT")
			w.WriteHeader(http.StatusPartialContent)
			w.Write([]byte("bo"))
			http.NewResponseController(w).Flush()
		},
	} {
		s := &s3test.Server{Instead: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet && name != "before it" {
				s3test.Refuse(w, 500, "InternalError")
				return true
			}
			cut(w)
			panic(http.ErrAbortHandler)
		}}
		for op, err := range each(t, open(t, s, "")) {
			if err == nil || errors.Is(err, objects.ErrNone) {
				t.Errorf("%s, cut %s: %v", op, name, err)
			}
		}
	}
}

// TestAStoreWithoutParts: a store that gives whole objects is found out.
func TestAStoreWithoutParts(t *testing.T) {
	b := open(t, &s3test.Server{Instead: func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 12:00:00 GMT")
		w.Write([]byte("0123456789"))
		return true
	}}, "")
	if got, err := b.Get(t.Context(), "x", 2, 2); err == nil || !strings.Contains(err.Error(), "gives no parts") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := b.Get(t.Context(), "x", 0, 2); err != nil || string(got) != "01" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWithoutKeys(t *testing.T) {
	s := &s3test.Server{Has: new(objecttest.Memory)}
	open(t, s, "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	for _, set := range [][2]string{{"", ""}, {s3test.Access, ""}, {"", secret}} {
		t.Setenv("AWS_ACCESS_KEY_ID", set[0])
		t.Setenv("AWS_SECRET_ACCESS_KEY", set[1])
		if _, err := s3.Open(s3.Location{Bucket: "name", Endpoint: "s3.example.com", Region: s3test.Region}, begin(t, s)); !errors.Is(err, s3.ErrKeys) || strings.Contains(err.Error(), secret) {
			t.Errorf("%.4q: %v", set, err)
		}
	}
}

package s3_test

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/base/objects/s3"
)

const secret = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"

// server speaks S3 over what a Memory has.
type server struct {
	has     objects.Store
	instead func(http.ResponseWriter, *http.Request) bool // answers in its place
	asked   atomic.Int64
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	name, ok := strings.CutPrefix(r.URL.Path, "/name/")
	switch {
	case s.instead != nil && s.instead(w, r):
	case !ok || !strings.Contains(r.Header.Get("Authorization"), "AKIDEXAMPLE/") || !strings.Contains(r.Header.Get("Authorization"), "/eu-1/s3/"):
		refuse(w, http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodPut:
		s.put(w, r, name)
	case r.URL.Query().Get("list-type") == "2":
		s.list(w, r)
	case r.Method == http.MethodGet:
		s.get(w, r, name)
	case r.Method == http.MethodHead:
		i, err := s.has.Head(r.Context(), name)
		w.Header().Set("Content-Length", strconv.FormatInt(i.Size, 10))
		w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 12:00:00 GMT")
		if err != nil {
			w.Header().Del("Content-Length")
			w.WriteHeader(http.StatusNotFound)
		}
	case r.Method == http.MethodDelete:
		s.has.Delete(r.Context(), name)
		w.WriteHeader(http.StatusNoContent)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>it says %s</Message></Error>", code, code)
}

func (s *server) put(w http.ResponseWriter, r *http.Request, name string) {
	b, err := io.ReadAll(r.Body)
	sum := md5.Sum(b)
	if err != nil || r.Header.Get("If-None-Match") != "*" || r.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(sum[:]) {
		refuse(w, http.StatusBadRequest, "InvalidRequest")
		return
	}
	if o, _ := s.has.Put(r.Context(), name, strings.NewReader(string(b))); o == objects.Exists {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	w.Header().Set("ETag", `"x"`)
}

func (s *server) get(w http.ResponseWriter, r *http.Request, name string) {
	var from, to int64
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
	i, err := s.has.Head(r.Context(), name)
	switch {
	case err != nil:
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	case from >= i.Size:
		refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		return
	}
	b, _ := s.has.Get(r.Context(), name, from, int(to-from+1))
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+int64(len(b))-1, i.Size))
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 12:00:00 GMT")
	w.WriteHeader(http.StatusPartialContent)
	w.Write(b)
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Key, LastModified string
		Size              int64
	}
	var answer struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		KeyCount              int
		Contents              []content
		NextContinuationToken string `xml:",omitempty"`
	}
	q := r.URL.Query()
	most, _ := strconv.Atoi(q.Get("max-keys"))
	after := q.Get("start-after")
	if t := q.Get("continuation-token"); t != "" {
		after = t
	}
	most = min(most, 3) // a store may give fewer than it is asked for
	page, _ := s.has.List(r.Context(), q.Get("prefix"), after, most+1)
	if answer.IsTruncated = len(page) > most; answer.IsTruncated {
		page = page[:most]
		answer.NextContinuationToken = page[most-1].Name
	}
	for _, i := range page {
		answer.Contents = append(answer.Contents, content{i.Name, "2026-11-27T12:00:00.000Z", i.Size})
	}
	answer.KeyCount = len(page)
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(answer)
}

// begin starts a server, and returns how every request gets there.
func begin(t testing.TB, s *server) http.RoundTripper {
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

func open(t testing.TB, s *server, prefix string) *s3.Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	b, err := s3.Open(s3.Location{Bucket: "name", Prefix: prefix, Endpoint: "s3.example.com", Region: "eu-1"}, begin(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestContract(t *testing.T) {
	for _, prefix := range []string{"", "some/prefix"} {
		objecttest.Contract(t, func(t testing.TB) objects.Store { return open(t, &server{has: new(objecttest.Memory)}, prefix) })
	}
}

// TestPrefixesAreApart: two prefixes of one bucket do not see each other.
func TestPrefixesAreApart(t *testing.T) {
	m := new(objecttest.Memory)
	one, other := open(t, &server{has: m}, "a"), open(t, &server{has: m}, "ab")
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
		s := &server{instead: func(w http.ResponseWriter, r *http.Request) bool { refuse(w, c.status, code); return true }}
		b := open(t, s, "")
		before := s.asked.Load()
		for op, err := range each(t, b) {
			if err == nil || errors.Is(err, objects.ErrNone) || !strings.Contains(err.Error(), code) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "bucket name") || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %s: %v", op, code, err)
			}
		}
		if n := s.asked.Load() - before; n != 4 {
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
		s := &server{instead: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet && name != "before it" {
				refuse(w, 500, "InternalError")
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
	b := open(t, &server{instead: func(w http.ResponseWriter, r *http.Request) bool {
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
	s := &server{has: new(objecttest.Memory)}
	open(t, s, "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	for _, set := range [][2]string{{"", ""}, {"AKIDEXAMPLE", ""}, {"", secret}} {
		t.Setenv("AWS_ACCESS_KEY_ID", set[0])
		t.Setenv("AWS_SECRET_ACCESS_KEY", set[1])
		if _, err := s3.Open(s3.Location{Bucket: "name", Endpoint: "s3.example.com", Region: "eu-1"}, begin(t, s)); !errors.Is(err, s3.ErrKeys) || strings.Contains(err.Error(), secret) {
			t.Errorf("%.4q: %v", set, err)
		}
	}
}

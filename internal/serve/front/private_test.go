package front_test

import (
	"bytes"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/test/testkit"
)

// circle takes the text of a header for a signature: the one who says "member", while they are one.
type circle struct{ gone atomic.Bool }

func (c *circle) Signer(r *http.Request) (nostr.PubKey, bool) {
	pk := testkit.Key(1).PubKey()
	return pk, r.Header.Get("Authorization") == "member" && c.Has(pk)
}

func (c *circle) Has(nostr.PubKey) bool { return !c.gone.Load() }

// ask is a request over a transport that is none, by somebody at an address.
func ask(f *front.Front, method, path, auth string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader("body"))
	r.RemoteAddr = "198.51.100.1:5"
	r.Header.Set("Authorization", auth)
	f.Handler().ServeHTTP(w, r)
	return w
}

// TestDoors: each door is as shut as it says, one that says nothing is shut, and all who stand before one hear the same.
func TestDoors(t *testing.T) {
	f := front.New(front.Config{Members: &circle{}})
	for _, x := range []struct {
		path string
		door front.Door
	}{{"/signed", front.Signed}, {"/open", front.Open}, {"/own", front.Own}, {"/unsaid", 0}, {"/stored", front.Signed}} {
		f.Handle(front.Route{
			Name: x.path, Door: x.door,
			Takes: func(r *http.Request) bool { return r.URL.Path == x.path },
			Serve: func(w http.ResponseWriter, r *http.Request, _ front.Client) {
				w.Header().Set("Cache-Control", map[string]string{"/stored": "no-store"}[x.path])
				w.Header().Set("Vary", "Accept")
				b, _ := io.ReadAll(r.Body)
				io.WriteString(w, "content "+string(b))
			},
		})
	}
	if n := len(f.Routes()); n != 5 {
		t.Errorf("%d routes", n)
	}
	var first *httptest.ResponseRecorder
	for _, path := range []string{"/signed", "/unsaid", "/nowhere", "/stored"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "X"} {
			for _, auth := range []string{"", "stranger"} {
				w := ask(f, method, path, auth)
				if first == nil {
					first = w
				}
				if w.Code != http.StatusUnauthorized || w.Body.Len() > 0 || !maps.EqualFunc(w.Header(), first.Header(), slices.Equal) ||
					w.Header().Get("WWW-Authenticate") != `Nostr method="GET"` || !strings.HasPrefix(w.Header().Get("Cache-Control"), "private") {
					t.Errorf("%s %s %q: %d %v %s", method, path, auth, w.Code, w.Header(), w.Body)
				}
			}
		}
	}
	for path, want := range map[string]string{"/signed": "private, no-cache", "/unsaid": "private, no-cache", "/stored": "private, no-store"} {
		if w := ask(f, "POST", path, "member"); w.Body.String() != "content body" || w.Header().Get("Cache-Control") != want || w.Header().Get("Vary") != "Accept, Authorization" {
			t.Errorf("a member: %s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
	for _, path := range []string{"/open", "/own"} {
		if w := ask(f, "POST", path, ""); w.Body.String() != "content body" || w.Header().Get("Vary") != "Accept" {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
	if w := ask(f, "OPTIONS", "/signed", ""); w.Code != http.StatusNoContent {
		t.Errorf("what browsers ask first: %d", w.Code)
	}
	if left := f.Unreturned(); len(left) > 0 {
		t.Errorf("not given back: %s", left)
	}
}

// TestStrangersPayForSignatures: whoever is not let in uses up what their address may have, and then nothing of theirs is looked at.
func TestStrangersPayForSignatures(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	f := front.New(front.Config{Members: &circle{}, Rates: front.Rates{Requests: 1}, Now: func() time.Time { return at }})
	f.Handle(front.Route{Door: front.Signed, Serve: func(http.ResponseWriter, *http.Request, front.Client) {}})
	for i := range 11 {
		if code := ask(f, "GET", "/", "stranger").Code; code != map[bool]int{true: 401, false: 429}[i < 10] {
			t.Fatalf("request %d: %d", i, code)
		}
	}
	if w := ask(f, "GET", "/", ""); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("without a signature: %d", w.Code)
	}
	at = at.Add(time.Second)
	for range 3 {
		if code := ask(f, "GET", "/", "member").Code; code != http.StatusOK {
			t.Errorf("a member: %d", code)
		}
	}
}

// TestMembershipEndsRequestsUnderWay: one that waits for the client's body, one that the client does not read, and one that does neither.
func TestMembershipEndsRequestsUnderWay(t *testing.T) {
	members := &circle{}
	f := front.New(front.Config{Members: members})
	begun, ended := make(chan string), make(chan string, 3)
	f.Handle(front.Route{Door: front.Signed, Serve: func(w http.ResponseWriter, r *http.Request, _ front.Client) {
		what := r.URL.Path
		defer func() { ended <- what }()
		begun <- what
		switch what {
		case "/reads":
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				t.Error("a body has come to its end")
			}
		case "/writes":
			for b := make([]byte, 1<<20); ; {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		default:
			<-r.Context().Done()
			if n, err := w.Write([]byte("x")); err == nil {
				t.Errorf("%d bytes are sent to somebody who is no member", n)
			}
		}
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := f.Server()
	defer s.Close()
	over := make(chan struct{})
	go func() { defer close(over); _ = s.Serve(l) }()
	defer func() { s.Close(); <-over }()
	for _, what := range []string{"/reads", "/writes", "/waits"} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "POST "+what+" HTTP/1.1\r\nHost: x\r\nAuthorization: member\r\nContent-Length: 1000000\r\n\r\nsome"); err != nil {
			t.Fatal(err)
		}
		if got := <-begun; got != what {
			t.Fatalf("%s instead of %s", got, what)
		}
	}
	f.Expel()
	select {
	case what := <-ended:
		t.Fatalf("%s has ended though nobody's membership has", what)
	case <-time.After(20 * time.Millisecond):
	}
	members.gone.Store(true)
	f.Expel()
	for range 3 {
		<-ended
	}
}

// TestWhoIsSentAwayWhileTheyComeIn hears nothing of what the service has.
func TestWhoIsSentAwayWhileTheyComeIn(t *testing.T) {
	members := &leaving{}
	f := front.New(front.Config{Members: members})
	f.Handle(front.Route{Door: front.Signed, Serve: func(w http.ResponseWriter, r *http.Request, _ front.Client) {
		if r.Context().Err() == nil {
			t.Error("the request goes on")
		}
		io.WriteString(w, "content")
	}})
	if w := ask(f, "GET", "/", "member"); bytes.Contains(w.Body.Bytes(), []byte("content")) {
		t.Errorf("%s", w.Body)
	}
}

// leaving is a member when they sign, and none any more right after that.
type leaving struct{ circle }

func (*leaving) Has(nostr.PubKey) bool { return false }

package front

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Members knows who may ask a private service for what it has (GRASP-08).
type Members interface {
	Signer(*http.Request) (nostr.PubKey, bool) // returns the member who has signed the request, if a member has
	Has(nostr.PubKey) bool
}

// Door says what a private service demands of whoever asks a route. Every route names its door; the zero Door counts as Signed.
type Door uint8

// Doors of routes.
const (
	_      Door = iota
	Signed      // it demands a member's signature, which the front checks
	Open        // it demands nothing, as the route tells nothing of what the service has
	Own         // the route itself checks, and refuses with Unauthorized
)

// Unauthorized answers a request whose signature does not let the sender in. The answer is the same whatever is wrong with the signature,
// and whether or not the service has what the request asks for.
func Unauthorized(w http.ResponseWriter) {
	h := w.Header()
	h.Set("WWW-Authenticate", `Nostr method="GET"`)
	h.Set("Cache-Control", "private, no-store")
	h.Set("Vary", "Authorization")
	h.Set("Content-Length", "0")
	w.WriteHeader(http.StatusUnauthorized)
}

// admit lets a member in through a Signed door, or answers the request with a refusal. Where ok is true, the caller uses in and as instead
// of w and req, and calls leave once it has served the request.
func (f *Front) admit(w http.ResponseWriter, req *http.Request, one *Visitor) (in http.ResponseWriter, as *http.Request, leave func(), ok bool) {
	// Checking a signature costs more than most answers, whether the signature is good or not.
	if wait := one.Debt(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(1+int(wait/time.Second)))
		http.Error(w, "429 too many requests from your address", http.StatusTooManyRequests)
		return nil, nil, nil, false
	}
	pk, ok := f.members.Signer(req)
	if !ok {
		one.pay(requesting, 1)
		Unauthorized(w)
		return nil, nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	v := &visit{of: pk, cancel: cancel, control: http.NewResponseController(w)}
	f.visits.add(v)
	if !f.members.Has(pk) { // Expel may have come before add, and then did not find v
		v.end()
	}
	as = req.WithContext(ctx)
	if as.Body != nil && as.Body != http.NoBody {
		as.Body = &memberBody{as.Body, v}
	}
	c := &confidential{ResponseWriter: w, of: v}
	return c, as, func() { c.seal(); f.visits.remove(v); cancel(nil) }, true
}

// Expel ends the requests under way of people who are members no more.
func (f *Front) Expel() {
	f.visits.each(func(v *visit) {
		if !f.members.Has(v.of) {
			v.end()
		}
	})
}

// errExpelled ends the request of somebody who is no member any more.
var errExpelled = errors.New("no longer a member")

// visit is a member's request that is being served.
type visit struct {
	of      nostr.PubKey
	cancel  context.CancelCauseFunc
	control *http.ResponseController
	ended   atomic.Bool
}

// end makes reads and writes of the request fail. Callers call it only while the request is being served.
func (v *visit) end() {
	v.ended.Store(true)
	v.cancel(errExpelled)
	now := time.Now()
	// This ends reads and writes that wait for the client. Without deadlines in the transport they go on until their next step.
	_, _ = v.control.SetReadDeadline(now), v.control.SetWriteDeadline(now)
}

// visits are the requests of members that are under way.
type visits struct {
	mu  sync.Mutex
	all map[*visit]struct{}
}

func (s *visits) add(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*visit]struct{}{}
	}
	s.all[v] = struct{}{}
}

func (s *visits) remove(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, v)
}

// each calls do with every visit. Meanwhile no visit can be removed.
func (s *visits) each(do func(*visit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.all {
		do(v)
	}
}

// memberBody is the body of a member's request. Reading fails once the sender is no member any more.
type memberBody struct {
	io.ReadCloser
	of *visit
}

func (b *memberBody) Read(p []byte) (int, error) {
	if b.of.ended.Load() {
		return 0, errExpelled
	}
	return b.ReadCloser.Read(p)
}

// confidential is an answer that no shared cache may keep. Writing fails once the reader is no member any more.
type confidential struct {
	http.ResponseWriter
	of     *visit
	sealed bool
}

// Unwrap is for http.ResponseController.
func (c *confidential) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader sends the head.
func (c *confidential) WriteHeader(status int) {
	c.seal()
	c.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (c *confidential) Write(b []byte) (int, error) {
	c.seal()
	if c.of.ended.Load() {
		return 0, errExpelled
	}
	return c.ResponseWriter.Write(b)
}

// seal marks an answer as one reader's own, before its head is sent.
func (c *confidential) seal() {
	if c.sealed {
		return
	}
	c.sealed = true
	h := c.Header()
	keep := "no-cache"
	if strings.Contains(h.Get("Cache-Control"), "no-store") {
		keep = "no-store"
	}
	h.Set("Cache-Control", "private, "+keep)
	vary := append(h.Values("Vary"), "Authorization")
	h.Set("Vary", strings.Join(vary, ", "))
}

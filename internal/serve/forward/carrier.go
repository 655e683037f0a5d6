package forward

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/status"
)

// Bounds of what is carried.
const (
	idle        = 2 * time.Minute // a client, or the leader, that neither sends nor takes anything for so long is cut
	look        = 100 * time.Millisecond
	mostWaiting = 256 // requests that wait for a node to lead; the next ones hear at once that there is none
)

// Nodes are those that share a bucket with the one that carries.
type Nodes interface {
	Leader() string                              // the private URL of the node that leads, as far as is known; "" is not
	Authorize(http.Header)                       // adds the secret of the nodes, and the term that this one knows: a node of an earlier term refuses with NotYet
	FollowPlace() (store.Place, <-chan struct{}) // up to where the one that carries has the commit log, and a channel that is closed when it has more
}

// Config says how a node reaches the one that leads.
type Config struct {
	Nodes    Nodes
	Verifier nostr.Verifier // nil is nostr.Schnorr
	Logger   *slog.Logger
}

// Carrier carries what clients of a node ask of the one that leads.
type Carrier struct {
	c       Config
	proxy   *httputil.ReverseProxy
	client  *http.Client
	waiting atomic.Int64 // requests for which no node leads
	counts
	work sync.WaitGroup
	events
}

// counts are what was carried since the start.
type counts struct{ requests, unanswered, decided atomic.Uint64 }

// Stats returns what was carried since the start.
func (x *Carrier) Stats() status.Carried {
	return status.Carried{Requests: x.requests.Load(), Events: x.decided.Load(), Unanswered: x.unanswered.Load(), Waiting: max(0, x.waiting.Load())}
}

// NewCarrier returns a Carrier. It carries requests at once, and events while Run runs.
func NewCarrier(c Config) *Carrier {
	d := net.Dialer{Timeout: 2 * time.Second}
	direct := &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, ExpectContinueTimeout: time.Minute, DisableCompression: true}
	if c.Verifier == nil {
		c.Verifier = nostr.Schnorr{}
	}
	x := &Carrier{c: c, client: &http.Client{Transport: direct}}
	x.proxy = &httputil.ReverseProxy{
		Transport: patient{x, direct}, ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
		Rewrite:        func(*httputil.ProxyRequest) {}, // which leaves out what a client says of other proxies
		ModifyResponse: x.tidy, ErrorHandler: x.refuse,
	}
	x.events.init()
	return x
}

// Route returns the route with its requests carried to the node that leads, which admits people itself.
func (x *Carrier) Route(r front.Route) front.Route {
	r.Door, r.Serve, r.Request, r.Answer, r.Keeps = front.Own, x.Serve, 0, 0, false
	return r
}

// Serve has the node that leads answer a request, for which the client's address pays at both nodes. Bodies are streamed both ways.
func (x *Carrier) Serve(w http.ResponseWriter, r *http.Request, from front.Client) {
	if wait := from.Visitor.Admit(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(1+int(wait/time.Second)))
		http.Error(w, "429 too many requests from your address", http.StatusTooManyRequests)
		return
	}
	x.requests.Add(1)
	client := "-"
	if from.Addr.IsValid() {
		client = from.Addr.String()
	}
	r = r.Clone(context.WithValue(r.Context(), ownHeader{}, w.Header()))
	for name := range r.Header { // a client says nothing in the name of a node
		if strings.HasPrefix(name, "Graspd-") {
			r.Header.Del(name)
		}
	}
	r.Header.Set(clientHead, client)
	c := http.NewResponseController(w)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &body{ReadCloser: r.Body, c: c}
		r.Header.Set("Expect", "100-continue") // so that nothing of the body is sent to a node that does not take it
	}
	x.proxy.ServeHTTP(&answer{w, c}, r)
}

// ownHeader is the key of the fields that this node's own front has set already.
type ownHeader struct{}

// tidy leaves the fields out that are set already.
func (x *Carrier) tidy(r *http.Response) error {
	own, _ := r.Request.Context().Value(ownHeader{}).(http.Header)
	for name := range own {
		r.Header.Del(name)
	}
	return nil
}

// refuse answers where no node did.
func (x *Carrier) refuse(w http.ResponseWriter, r *http.Request, err error) {
	x.unanswered.Add(1)
	x.c.Logger.Debug("a request was not answered by the node that leads", "error", err)
	w.Header().Set("Retry-After", "5")
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, ingest.NoWriter, http.StatusServiceUnavailable)
}

// body is the body of a request on its way.
type body struct {
	io.ReadCloser
	c *http.ResponseController
}

func (b *body) Read(p []byte) (int, error) {
	_ = b.c.SetReadDeadline(time.Now().Add(idle)) // where it cannot be set, the front's own holds
	return b.ReadCloser.Read(p)
}

// answer is an answer on its way.
type answer struct {
	http.ResponseWriter
	c *http.ResponseController
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) Write(p []byte) (int, error) {
	_ = a.c.SetWriteDeadline(time.Now().Add(idle))
	return a.ResponseWriter.Write(p)
}

// Errors of requests that reach no node.
var (
	errNotYet = errors.New("the node does not answer for clients yet")
	errMoved  = errors.New("another node leads")
	errIdle   = errors.New("the node that leads sends nothing")
	errCrowd  = errors.New("too many requests wait for a node to lead")
)

// patient asks the node that leads, and once more where there was none, for as long as nothing of the body is gone.
type patient struct {
	x    *Carrier
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper, but for closing the body, which the proxy does.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	until := time.Now().Add(Patience)
	for try := 0; ; try++ {
		a, begun, err := p.once(r)
		if err == nil || begun || r.Context().Err() != nil || time.Now().After(until) {
			return a, err
		}
		if try == 0 {
			defer p.x.waiting.Add(-1)
			if p.x.waiting.Add(1) > mostWaiting {
				return nil, errCrowd
			}
		}
		if err := sleep.For(r.Context(), look); err != nil {
			return nil, err
		}
	}
}

// once asks the node that leads now. begun reports whether some of the body is gone, of which nobody reads any more after an error.
func (p patient) once(r *http.Request) (_ *http.Response, begun bool, _ error) {
	leader := p.x.c.Nodes.Leader()
	to, err := url.Parse(leader)
	if err != nil || to.Host == "" {
		return nil, false, errors.Join(errNotYet, err)
	}
	ctx, cut := context.WithCancelCause(r.Context())
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host = to.Scheme, to.Host
	p.x.c.Nodes.Authorize(out.Header)
	var lending *lent
	if r.Body != nil {
		lending = &lent{b: r.Body}
		out.Body = lending
	}
	heard := p.x.watch(leader, cut)
	a, err := p.next.RoundTrip(out)
	heard()
	if err == nil && a.Header.Get(notYetHead) != "" {
		err = errors.Join(errNotYet, a.Body.Close())
	}
	if err != nil {
		cut(err)
		return nil, lending.takeBack(), err
	}
	a.Body = &carried{a.Body, cut, time.AfterFunc(idle, func() { cut(errIdle) })}
	return a, false, nil
}

// watch cuts a request that has no answer yet once another node leads, as the one that was asked may stand still. The caller calls heard.
func (x *Carrier) watch(leader string, cut context.CancelCauseFunc) (heard func()) {
	answered := make(chan struct{})
	x.work.Go(func() {
		t := time.NewTicker(look)
		defer t.Stop()
		for {
			select {
			case <-answered:
				return
			case <-t.C:
				if x.c.Nodes.Leader() != leader {
					cut(errMoved)
					return
				}
			}
		}
	})
	return func() { close(answered) }
}

// lent is a body for one try, which stays open, so that another node can have it.
type lent struct {
	b io.Reader

	mu          sync.Mutex // guards all below
	begun, gone bool
}

func (l *lent) Read(p []byte) (int, error) {
	l.mu.Lock()
	if l.gone {
		l.mu.Unlock()
		return 0, errMoved
	}
	l.begun = true
	l.mu.Unlock()
	return l.b.Read(p)
}

func (*lent) Close() error { return nil }

// takeBack ends a try, of which nobody begins to read any more then, and reports whether somebody did.
func (l *lent) takeBack() (begun bool) {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	return l.begun
}

// carried is the body of an answer, with what the request holds until its end.
type carried struct {
	io.ReadCloser
	cut  context.CancelCauseFunc
	idle *time.Timer
}

func (b *carried) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.idle.Reset(idle)
	return n, err
}

func (b *carried) Close() error {
	b.idle.Stop()
	defer b.cut(nil)
	return b.ReadCloser.Close()
}

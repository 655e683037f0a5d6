package githttp

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/serve/front"
)

var (
	errSlow  = fmt.Errorf("less than %d KiB came in %s", stallBytes>>10, stallTime)
	errEnded = errors.New("the request has ended")
	// These are the errSlow of a push that has to give way to others.
	errYield  error = slowness("others wait for their turn, and this one brings least")
	errGreedy error = slowness("others wait for their turn, and pushes of your network had turns for longest: try again in a minute")
)

type slowness string

func (s slowness) Error() string { return string(s) }

func (slowness) Is(other error) bool { return other == errSlow }

// body reads the body of a request as it comes, and fails when too little comes. Only the time that its reader waits counts.
type body struct {
	src  io.Reader
	c    *http.ResponseController
	got  *atomic.Uint64
	over bool          // the whole body was read
	err  error         // why reading ended
	sum  int64         // bytes so far; written with mu held
	some int           // bytes in the window
	took time.Duration // length of the window

	mu    sync.Mutex // guards the fields below
	until time.Time  // by when the whole body has to be here
	ended bool
	due   time.Time // by when the read under way has to bring something; zero when none is under way
	slow  bool      // the body came too slowly
	gives error     // why yield has given the body up

	since  time.Time // when the first bytes came
	lately float64   // bytes, of which half counts after each half
	at     time.Time // as of when
}

// half is how old half of what counts for the rate of a body is.
const half = 10 * time.Second

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	began := time.Now()
	if b.err = b.await(began); b.err != nil {
		return 0, b.err
	}
	n, err := b.src.Read(p)
	b.got.Add(uint64(n))
	b.some += n
	b.took += time.Since(began)
	if b.some >= stallBytes {
		b.some, b.took = 0, 0
	}
	b.err = b.result(n, err)
	return n, b.err
}

// await sets the time that there is for the next bytes.
func (b *body) await(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return errEnded
	}
	if b.gives != nil {
		return b.gives
	}
	deadline := now.Add(stallTime - b.took)
	if deadline.After(b.until) {
		deadline = b.until
	}
	b.due = deadline
	return ignoreUnsupported(b.c.SetReadDeadline(deadline))
}

// result returns the error of the body after a read of its connection that returned n and err. After the last byte it leaves net/http time to
// read on by itself, to learn when the client leaves.
func (b *body) result(n int, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.due = time.Time{}
	b.count(time.Now(), n)
	switch {
	case err == io.EOF:
		b.over = true
		if err := ignoreUnsupported(b.c.SetReadDeadline(time.Now().Add(longest))); err != nil {
			return err
		}
	case err != nil && b.ended:
		return errEnded
	case err != nil && b.gives != nil:
		return b.gives
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.slow = true
		return errSlow
	}
	return err
}

// isSlow reports whether the body came too slowly or yield has given it up, also where its reader does not know yet.
func (b *body) isSlow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slow || b.gives != nil || !b.due.IsZero() && !time.Now().Before(b.due)
}

// count notes bytes that came. The caller holds mu.
func (b *body) count(now time.Time, n int) {
	if b.since.IsZero() {
		b.since = now
	}
	b.lately, b.at = b.fresh(now)+float64(n), now
	b.sum += int64(n)
}

// fresh returns how many of the bytes that came still count. The caller holds mu.
func (b *body) fresh(now time.Time) float64 {
	return b.lately * math.Exp2(-now.Sub(b.at).Seconds()/half.Seconds())
}

// progress returns how many bytes a second come, of late more than before, and whether all are here.
func (b *body) progress(now time.Time) (perSecond float64, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		return 0, b.over
	}
	counts := 1 - math.Exp2(-now.Sub(b.since).Seconds()/half.Seconds()) // of a body that has come since then as fast all the time
	return b.fresh(now) * math.Ln2 / half.Seconds() / max(counts, 1e-3), b.over
}

// yield makes the read under way and all later ones fail for a reason, unless the whole body is here.
func (b *body) yield(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over && !b.ended {
		b.gives = why
		_ = b.c.SetReadDeadline(time.Unix(1, 0)) // else the read ends when its time does
	}
}

// end makes the read under way and all later ones fail.
func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended && !b.over {
		_ = b.c.SetReadDeadline(time.Unix(1, 0)) // else the read ends when its time does
	}
	b.ended = true
}

// drain reads up to most bytes of a body that nobody wants: a client sends all of it before it looks for the answer.
func (b *body) drain(most int64) {
	if !b.over && b.err == nil {
		_, _ = io.CopyN(io.Discard, b, most) // a client that stops sending has stopped waiting
	}
}

func ignoreUnsupported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// open checks the header of a POST and returns the body as it was before it was compressed. until is how long the body may take.
func (x *exchange) open(until time.Duration) (raw *body, plain *bufio.Reader, err error) {
	want := "application/x-" + x.service.String() + "-request"
	sort, _, _ := strings.Cut(x.req.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(sort), want) {
		return nil, nil, &failure{status: http.StatusUnsupportedMediaType, text: "the content type of this request is " + want}
	}
	raw = &body{src: x.req.Body, c: http.NewResponseController(x.w), got: &x.counts.in, until: time.Now().Add(until)}
	switch strings.ToLower(x.req.Header.Get("Content-Encoding")) {
	case "", "identity":
		return raw, x.reader(raw), nil
	case "gzip", "x-gzip":
		return raw, x.reader(newInflated(raw, x.large)), nil
	}
	x.w.Header().Set("Accept-Encoding", "gzip")
	return nil, nil, &failure{status: http.StatusUnsupportedMediaType, text: "of encodings gzip is understood"}
}

// readers has buffered readers of bodies, for reuse: a new one for each request would be most of the memory of a request for refs.
var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// reader lends a buffered reader for as long as the exchange lasts. A pack gets one of its own that is never reused: another goroutine reads the
// pack, a fault of the host might leave that goroutine behind, and it must never read from the next request.
func (x *exchange) reader(from io.Reader) *bufio.Reader {
	if x.service == gitwire.ReceivePack {
		return bufio.NewReader(from)
	}
	r := readers.Get().(*bufio.Reader)
	r.Reset(from)
	x.lent = r
	return r
}

// How far a body may inflate. Packs are compressed already, and requests have ids, which hardly compress.
const (
	mostInflated = 32      // times the bytes that were sent
	freeInflated = 1 << 20 // bytes of a body beyond that
)

var errInflates = fmt.Errorf("the body inflates to more than %d times what was sent", mostInflated)

// largeAtOnce returns how many large bodies are inflated or parsed at the same time: half as many as there are processors, so that the other half is left
// for everything else.
func largeAtOnce() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// inflated reads a compressed body, and bounds how far it inflates. It reads nothing before its reader asks. It has one of the turns of all who
// inflate while it does, and gives that up while it waits for bytes.
type inflated struct {
	raw   *body
	turns chan struct{}
	src   *bufio.Reader
	z     *gzip.Reader
	n     int64
	err   error
}

func newInflated(raw *body, turns chan struct{}) *inflated {
	i := &inflated{raw: raw, turns: turns}
	i.src = bufio.NewReader(beyond{i})
	return i
}

func (i *inflated) Read(p []byte) (n int, err error) {
	i.turns <- struct{}{}
	defer func() { <-i.turns }()
	if i.z == nil && i.err == nil {
		i.z, i.err = gzip.NewReader(i.src)
	}
	if i.err != nil {
		return 0, i.err
	}
	n, i.err = i.z.Read(p)
	if i.n += int64(n); i.n > freeInflated+mostInflated*i.raw.sum {
		i.err = errInflates
	}
	return n, i.err
}

// beyond reads what is to be inflated, without the turn.
type beyond struct{ i *inflated }

func (b beyond) Read(p []byte) (int, error) {
	<-b.i.turns
	defer func() { b.i.turns <- struct{}{} }()
	return b.i.raw.Read(p)
}

// What a request costs, in steps (front.StepsPerRequest).
const (
	stepsPerUnit    = 500 // to inflate and parse unitBytes of it
	stepsPerCommand = 2   // to judge a command of a push
	stepsPerTip     = 20  // and to look up the event that it names
	stepsPerID      = 2   // to look for an object
)

// metered reads a request for its parser, and takes units of memory for it. The first unit is for free, as that of a request. Before each other
// one the client pays with what the address may use. What has come of it is parsed while the address has its turn, and the client pays for the
// time that this takes beyond. The turn is given up whenever the parser reads on and no bytes are here, as the next ones may take a while to come.
type metered struct {
	x    *exchange
	src  *bufio.Reader
	left int // bytes of the unit that are not read yet
	got  int // units

	end   func()    // ends the turn of the address; nil without one
	since time.Time // when the turn began
}

func (m *metered) Read(p []byte) (int, error) {
	if m.src.Buffered() == 0 || m.left == 0 {
		m.rest()
	}
	if m.left == 0 {
		if err := m.pay(); err != nil {
			return 0, err
		}
	}
	n, err := m.src.Read(p[:min(len(p), m.left)])
	m.left -= n
	if m.got > 1 && m.end == nil {
		if failed := m.turn(); failed != nil {
			return 0, failed
		}
	}
	return n, err
}

// pay takes the next unit.
func (m *metered) pay() error {
	if err := m.x.hold(1); err != nil {
		return err
	}
	m.left = unitBytes
	if m.got++; m.got == 1 {
		return nil
	}
	return m.x.charge(stepsPerUnit)
}

// turn waits for the turn of the address, and then for one of those of all large bodies.
func (m *metered) turn() error {
	ctx := m.x.req.Context()
	end, err := m.x.from.Visitor.TakeTurn(ctx)
	if err != nil {
		return err
	}
	select {
	case m.x.large <- struct{}{}:
	case <-ctx.Done():
		end()
		return context.Cause(ctx)
	}
	m.end = func() { <-m.x.large; end() }
	m.since = time.Now()
	return nil
}

// rest ends the turn, and has the client pay for its time as far as that is not paid yet. Callers may call it more than once.
func (m *metered) rest() {
	if m.end == nil {
		return
	}
	m.end()
	m.end = nil
	if over := time.Since(m.since) - front.TimeOf(stepsPerUnit); over > 0 {
		m.x.from.Visitor.ChargeTime(over)
	}
}

// mostDebt is for how long a request waits in silence when its address has used more than it may.
const mostDebt = 10 * time.Second

// charge has the client pay for work that is to come. It waits while the address has used more than it may, up to mostDebt in all. Where that is
// too short it fails, and the client hears when another try is worth it.
func (x *exchange) charge(steps int) error {
	began := time.Now()
	for {
		wait := x.from.Visitor.Debt()
		if wait <= 0 {
			x.from.Visitor.Charge(steps)
			return nil
		}
		if time.Since(began)+wait > mostDebt {
			return &failure{http.StatusTooManyRequests, "too many requests from your address, or too much in them: try again in " + strconv.Itoa(seconds(wait)) + " s", wait}
		}
		if err := sleep.For(x.req.Context(), wait); err != nil {
			return err
		}
	}
}

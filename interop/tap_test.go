package interop

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// tap stands between graspd and a relay. It carries every frame unchanged, unless forge is set, and remembers what went past.
type tap struct {
	url string
	t   *testing.T

	mu          sync.Mutex // guards the rest
	target      string
	forge       bool                      // break the signature of every event that the relay sends
	seen        ids                       // events that the relay sent
	sent        int                       // repeats included
	sentFor     map[string][]nostr.Filter // what the relay sent last, by id: what asked for it
	requests    map[string][]nostr.Filter // what is asked, by subscription
	live        map[string]bool           // values of the filters of REQs for what comes next, once the relay has them
	compared    map[string]bool           // values of the filters that were reconciled to the end
	fetches     int                       // REQs by ids
	connections int
	open        map[string]int // filters of the REQs that the relay has, by subscription
	mostOpen    int            // REQs at once
	mostFilters int            // in one REQ
	longest     int            // bytes of a message to the relay
}

const frameLimit = 1 << 25

// newTap makes one; what it leads to may be told later.
func newTap(t *testing.T, target string) *tap {
	p := &tap{t: t, target: target}
	p.reset()
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	p.url = websocketURL(s)
	return p
}

// reset forgets what went past.
func (p *tap) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.live, p.compared = ids{}, map[string]bool{}, map[string]bool{}
	p.requests, p.sent, p.fetches, p.connections = map[string][]nostr.Filter{}, 0, 0, 0
	p.sentFor = map[string][]nostr.Filter{}
	p.open, p.mostOpen, p.mostFilters, p.longest = map[string]int{}, 0, 0, 0
}

// domain is what announcements list where the tap stands before a graspd.
func (p *tap) domain() string { return strings.TrimPrefix(p.url, "ws://") }

func (p *tap) lead(target string) { p.mu.Lock(); defer p.mu.Unlock(); p.target = target }

func (p *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	if r.Header.Get("Upgrade") == "" {
		p.document(w, r, target)
		return
	}
	there, _, err := websocket.Dial(r.Context(), target, nil)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.CloseNow()
	here, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer here.CloseNow()
	p.mu.Lock()
	p.connections++
	p.open = map[string]int{}
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	var both sync.WaitGroup
	both.Go(func() { defer cancel(); carry(ctx, here, there, p.request) })
	carry(ctx, there, here, p.answer)
	cancel()
	both.Wait()
}

// document passes the relay's NIP-11 document on.
func (p *tap) document(w http.ResponseWriter, r *http.Request, target string) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, "http"+strings.TrimPrefix(target, "ws"), nil)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

// carry moves frames until one side ends.
func carry(ctx context.Context, from, to *websocket.Conn, see func([]byte) []byte) {
	from.SetReadLimit(frameLimit)
	for {
		kind, b, err := from.Read(ctx)
		if err != nil || to.Write(ctx, kind, see(b)) != nil {
			return
		}
	}
}

// request notes what is asked of the relay.
func (p *tap) request(b []byte) []byte {
	m, err := nostr.ParseClient(b)
	if err != nil {
		p.t.Errorf("graspd sends %.200s: %v", b, err)
		return b
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longest = max(p.longest, len(b))
	switch m := m.(type) {
	case nostr.Req:
		p.requests[m.Sub] = m.Filters
		p.open[m.Sub] = len(m.Filters)
		p.mostOpen, p.mostFilters = max(p.mostOpen, len(p.open)), max(p.mostFilters, len(m.Filters))
		if m.Filters[0].IDs != nil {
			p.fetches++
		}
	case nostr.NegOpen:
		p.requests[m.Sub] = []nostr.Filter{m.Filter}
	case nostr.Close:
		delete(p.open, m.Sub)
	case nostr.NegClose:
		note(p.compared, p.requests[m.Sub])
	}
	return b
}

// note adds "#a value" for every value that filters ask for.
func note(to map[string]bool, filters []nostr.Filter) {
	for _, f := range filters {
		for _, t := range f.Tags {
			for _, v := range t.Values {
				to["#"+string(t.Name)+" "+v] = true
			}
		}
	}
}

// answer notes what the relay answers.
func (p *tap) answer(b []byte) []byte {
	m, err := nostr.ParseRelay(b)
	if err != nil {
		return b
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m := m.(type) {
	case nostr.EOSE:
		if f := p.requests[m.Sub]; f != nil && f[0].Limit != nil && *f[0].Limit == 0 {
			note(p.live, f)
		}
	case nostr.Closed:
		delete(p.open, m.Sub)
	case nostr.RelayEvent:
		p.seen[m.Event.ID.String()] = m.Event
		p.sentFor[m.Event.ID.String()] = p.requests[m.Sub]
		p.sent++
		if p.forge {
			forged := m.Event.Clone()
			forged.Sig[10] ^= 1
			return nostr.AppendRelayEvent(nil, m.Sub, forged.AppendJSON(nil))
		}
	}
	return b
}

// asked counts the REQs and reconciliations without a filter, and those with one.
func (p *tap) asked() (bare, others int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, filters := range p.requests {
		switch f := filters[0]; {
		case f.IDs != nil: // what a reconciliation led to
		case f.Kinds == nil && f.Authors == nil && f.Tags == nil:
			bare++
		default:
			others++
		}
	}
	return bare, others
}

// why tells what asked for an event.
func (p *tap) why(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b []byte
	for _, f := range p.sentFor[id] {
		b = f.AppendJSON(b)
	}
	return string(b)
}

// mostProbed bounds what graspd asks for where it looks whether a relay hides what lies below what it compared.
const mostProbed = 20

// onlyProbed reports whether nothing but such looks asked for an event. Where a relay has something new, they bring the oldest second
// of what it compared once more.
func (p *tap) onlyProbed(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.sentFor[id] {
		if f.IDs != nil || f.Until == nil || f.Limit == nil || *f.Limit > mostProbed {
			return false
		}
	}
	return len(p.sentFor[id]) > 0
}

// events are those that the relay sent.
func (p *tap) events() []*nostr.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.seen))
}

// counts tells how much went past.
func (p *tap) counts() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("the relay sent %d events, %d different ones, over %d connections; %d requests by id", p.sent, len(p.seen), p.connections, p.fetches)
}

// lacks is an item that is not live, or not compared, with one of its tags; "" when there is none.
func (p *tap) lacks(of func(*tap) map[string]bool, items map[string]string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for value, tags := range items {
		for _, t := range tags {
			if !of(p)["#"+string(t)+" "+value] {
				return string(t) + " " + value
			}
		}
	}
	return ""
}

func isLive(p *tap) map[string]bool     { return p.live }
func isCompared(p *tap) map[string]bool { return p.compared }

// sendsForgeries breaks the signature of every event from now on, or no longer.
func (p *tap) sendsForgeries(yes bool) { p.mu.Lock(); defer p.mu.Unlock(); p.forge = yes }

// passed reports whether the relay sent all these events.
func (p *tap) passed(events ids) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range events {
		if p.seen[id] == nil {
			return false
		}
	}
	return true
}

// judge fails the test if more was asked at once than the relay allows, and tells how much it was.
func (p *tap) judge(t *testing.T, reqs int) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mostOpen > reqs || p.mostFilters > usualFilters || p.longest > usualBytes {
		t.Errorf("%d REQs at once, %d filters in one, %d bytes", p.mostOpen, p.mostFilters, p.longest)
	}
	return fmt.Sprintf("at most %d REQs at once of %d filters and %d bytes", p.mostOpen, p.mostFilters, p.longest)
}

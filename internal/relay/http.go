package relay

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"graspd/internal/ingest"
	"graspd/internal/nip11"
)

// Handler serves WebSocket, the information document (NIP-11) and a page for people on "/", and nothing anywhere else. Server
// is what should be around it.
func (r *Relay) Handler() http.Handler {
	return r.faults.Handler("a request", http.HandlerFunc(r.serveHTTP))
}

func (r *Relay) serveHTTP(w http.ResponseWriter, req *http.Request) {
	allowOrigins(w.Header())
	switch {
	case req.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	case req.URL.Path != "/":
		http.Error(w, "404 not found: this relay is on /", http.StatusNotFound)
	case hasToken(req.Header, "Upgrade", "websocket"):
		r.serveClient(w, req)
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "405 method not allowed", http.StatusMethodNotAllowed)
	case hasToken(req.Header, "Accept", nip11.ContentType):
		write(w, nip11.ContentType, r.info)
	default:
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:")
		r.writePage(w)
	}
}

// writePage answers people.
func (r *Relay) writePage(w http.ResponseWriter) {
	html, err := r.pageNow()
	if err != nil {
		r.logger.Error("the page cannot be made", "error", err)
		http.Error(w, "500 internal error", http.StatusInternalServerError)
		return
	}
	write(w, "text/html; charset=utf-8", html)
}

// allowOrigins lets every web page use the relay (NIP-11, GRASP-01), now and when repositories are served over the same port.
func allowOrigins(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Git-Protocol, Accept, Content-Encoding, X-Requested-With")
	h.Set("Access-Control-Max-Age", "86400")
	h.Set("X-Content-Type-Options", "nosniff")
}

// hasToken reports whether a header that is a list holds the value, whatever its case and parameters.
func hasToken(h http.Header, key, value string) bool {
	for _, line := range h.Values(key) {
		for part := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), value) {
				return true
			}
		}
	}
	return false
}

// write answers with a document that depends on the Accept header. For HEAD the server leaves the body out.
func write(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Vary", "Accept")
	w.Write(body)
}

// serveClient upgrades to WebSocket and serves the client until it is gone.
func (r *Relay) serveClient(w http.ResponseWriter, req *http.Request) {
	if r.isClosed() {
		r.counts.turnedAway.Add(1)
		refuseUpgrade(w, http.StatusServiceUnavailable, shuttingDown.text)
		return
	}
	addr := r.clientAddr(req)
	v, err := r.visitors.arrive(addr)
	if err != nil {
		r.counts.turnedAway.Add(1)
		status := http.StatusTooManyRequests
		if errors.Is(err, errFull) {
			status = http.StatusServiceUnavailable
		}
		refuseUpgrade(w, status, err.Error())
		return
	}
	defer r.visitors.depart(v)
	who := &identity{challenge: r.challenge()}
	s := &session{
		relay: r, visitor: v, who: who,
		source: r.door.Source(r.sourceConfig(addr, v, who)),
		wake:   make(chan struct{}, 1), room: make(chan struct{}, 1),
		subs: map[string]*subscription{},
	}
	defer s.source.Close()
	s.cork = &cork{spare: r.held, count: s.received}
	s.conn, err = websocket.Accept(&corked{w, s.cork}, req, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // any web page may be a Nostr client, so the origin says nothing
		OnPingReceived:     func(context.Context, []byte) bool { return s.pinged() },
		OnPongReceived:     func(context.Context, []byte) { s.control() },
	})
	if err != nil {
		return
	}
	defer s.conn.CloseNow()
	s.conn.SetReadLimit(int64(r.limits.MessageBytes) * hardLimit)
	ctx, kill := context.WithCancel(context.WithoutCancel(req.Context()))
	defer kill()
	r.counts.taken.Add(1)
	err = s.serve(ctx, kill)
	r.counts.ended(err)
	r.logger.Debug("client gone", "client", label(addr), "cause", err)
}

// sourceConfig is how the door takes what a client brings. All clients of one address, or one network of IPv6, are one party
// there, and what their events make for work is the address's; those without rates are each a party of their own.
func (r *Relay) sourceConfig(addr netip.Addr, v *visitor, who *identity) ingest.SourceConfig {
	c := ingest.SourceConfig{Label: label(addr), Direct: true, HoldPlaces: true, Bearer: who.bearer}
	if v != nil {
		c.Share = "client " + groupOf(addr).String()
		c.Charge = func(steps int) { r.visitors.chargeDecision(v, steps) }
	}
	return c
}

func refuseUpgrade(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, text, status)
}

// label names a client's address for the door and the log.
func label(addr netip.Addr) string {
	if !addr.IsValid() {
		return "client"
	}
	return addr.String()
}

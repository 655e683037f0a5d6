package forward

import (
	"net/http"
	"net/netip"
	"sync"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
)

// Leader answers, on the private port, what other nodes carry to this one. It answers nothing until Lead, and nothing after Retire. The caller has
// checked that a node asks.
type Leader struct {
	mu sync.Mutex
	of *Answers
}

// Answers are what a node that leads answers with.
type Answers struct {
	Handler http.Handler // of the public listener
	Door    *ingest.Door
	Log     Log
}

// Log is the commit log of a node that leads, as a *store.Store has it.
type Log interface {
	LogPlace() store.Place    // up to where it goes, once something is decided
	Deposed() <-chan struct{} // closed once another node has written it
}

// Is reports whether a request of a node is for a Leader.
func Is(r *http.Request) bool { return r.Header.Get(clientHead) != "" || r.URL.Path == eventsPath }

// Lead has the node answer.
func (l *Leader) Lead(a Answers) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of = &a
}

// Retire has it answer no more. What it is answering goes on.
func (l *Leader) Retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of = nil
}

// leads reports whether the node still answers with these answers, and no other one is known to lead.
func (l *Leader) leads(of *Answers) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-of.Log.Deposed():
		return false
	default:
		return l.of == of
	}
}

// NotYet answers that another node is to be asked, as this one does not lead, or not yet.
func NotYet(w http.ResponseWriter, text string) {
	w.Header().Set(notYetHead, "1")
	http.Error(w, text, http.StatusServiceUnavailable)
}

// ServeHTTP implements http.Handler.
func (l *Leader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	of := l.of
	l.mu.Unlock()
	client := r.Header.Get(clientHead)
	switch {
	case of == nil:
		NotYet(w, ingest.NoWriter)
	case client != "":
		of.Handler.ServeHTTP(w, asOf(r, client))
	case r.Method == http.MethodPost && r.URL.Path == eventsPath:
		l.decide(of, w, r)
	default:
		http.NotFound(w, r)
	}
}

// asOf returns the request as if its client had come here.
func asOf(r *http.Request, client string) *http.Request {
	as := r.Clone(r.Context())
	as.RemoteAddr = "@" // of a socket that has no addresses
	if addr, err := netip.ParseAddr(client); err == nil {
		as.RemoteAddr = netip.AddrPortFrom(addr, 0).String()
	}
	as.Header.Del(clientHead)
	as.Header.Del("X-Forwarded-For") // it could name another one
	return as
}

package signin

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/nostr"
)

// begin makes a session and gives its secret, of which only the hash is kept.
func (d *desk) begin(by nostr.PubKey, from front.Client, now time.Time) string {
	secret := d.Token()
	s := &session{by: by, from: network(from), ends: now.Add(Lifetime), underWay: map[int]context.CancelFunc{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions[sha256.Sum256([]byte(secret))] = s
	for key, x := range d.sessions {
		if !now.Before(x.ends) {
			d.drop(key)
		}
	}
	for len(d.sessions) > MaxSessions {
		var oldest [32]byte
		first := time.Time{}
		for key, x := range d.sessions {
			if x != s && (first.IsZero() || x.ends.Before(first)) {
				oldest, first = key, x.ends
			}
		}
		d.drop(oldest)
	}
	return secret
}

// session is the one whose cookie a request has, from where it was begun; nil is none. A key that may no more has none either.
func (d *desk) session(r *http.Request, from front.Client) *session {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions[sha256.Sum256([]byte(c.Value))]
	if s == nil || !d.Now().Before(s.ends) || s.from != network(from) || !slices.Contains(d.Keys, s.by) {
		return nil
	}
	return s
}

// end ends the session of a request, and what it has under way.
func (d *desk) end(r *http.Request) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(sha256.Sum256([]byte(c.Value)))
}

// enter notes a request of a session, which cancel ends; leave forgets it.
func (d *desk) enter(s *session, cancel context.CancelFunc) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.underWay == nil { // it has just ended
		cancel()
		return func() {}
	}
	s.last++
	n := s.last
	s.underWay[n] = cancel
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(s.underWay, n)
	}
}

// drop is called with mu held.
func (d *desk) drop(key [32]byte) {
	if s := d.sessions[key]; s != nil {
		for _, cancel := range s.underWay {
			cancel()
		}
		s.underWay = nil
		delete(d.sessions, key)
	}
}

// network is the address of a client, or its network.
func network(from front.Client) netip.Addr { return front.Network(from.Addr) }

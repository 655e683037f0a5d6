package signin

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// begin makes a session and returns its secret. The desk keeps only the hash of it.
func (d *desk) begin(by nostr.PubKey, from front.Client, now time.Time) string {
	secret := d.Token()
	s := &session{by: by, from: network(from), ends: now.Add(Lifetime)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions[sha256.Sum256([]byte(secret))] = s
	for key, x := range d.sessions {
		if !now.Before(x.ends) {
			delete(d.sessions, key)
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
		delete(d.sessions, oldest)
	}
	return secret
}

// session returns the session whose cookie a request has; nil where there is none, where the request comes from another address than that
// at which the session began, and where its key may no more.
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

// end ends the session of a request.
func (d *desk) end(r *http.Request) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, sha256.Sum256([]byte(c.Value)))
}

// network returns the address of a client, or the network of an IPv6 one.
func network(from front.Client) netip.Addr { return front.Network(from.Addr) }

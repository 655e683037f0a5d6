package members

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// mostPeers bounds the servers that Peers remembers; it trusts none beyond.
const mostPeers = 1000

// grasp08 is the name by which a private service says that it is one.
const grasp08 = "GRASP-08"

// Peers knows the other private services of members. The information document of such a service names GRASP-08, and as the service's own key
// one that is a member. As anybody can write that, Peers believes it only at a URL that the operator has typed, and over an encrypted
// connection to a relay that a member's repository names. Any goroutine may use it.
type Peers struct {
	circle *Circle
	typed  func(grasp.RelayURL) bool

	mu   sync.Mutex
	keys map[string]nostr.PubKey // by server
}

// NewPeers makes Peers that know no service yet. typed reports whether the operator has typed the URL of a relay.
func NewPeers(c *Circle, typed func(grasp.RelayURL) bool) *Peers {
	return &Peers{circle: c, typed: typed, keys: map[string]nostr.PubKey{}}
}

// Met takes the information document of a relay after each connection to it; owners are those whose repositories name it. A document that
// does not say all that Peers asks for takes back what an earlier one said.
func (p *Peers) Met(u grasp.RelayURL, d nip11.Document, owners []nostr.PubKey) {
	server, ok := serverOf(string(u))
	if !ok {
		return
	}
	key, err := nostr.ParsePubKey(d.Self)
	says := err == nil && slices.Contains(d.SupportedGRASPs, grasp08) && p.circle.Has(key)
	private := says && (p.typed(u) || strings.HasPrefix(string(u), "wss://") && slices.ContainsFunc(owners, p.circle.Has))
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.keys[server]
	switch {
	case !private:
		delete(p.keys, server)
	case known || len(p.keys) < mostPeers:
		p.keys[server] = key
	}
}

// Trusts reports whether a relay is a member's service. This relay authenticates to such a relay, and shows it what it has.
func (p *Peers) Trusts(u grasp.RelayURL) bool { return p.TrustsServer(string(u)) }

// TrustsServer reports whether a URL leads to the server of a relay that Trusts trusts.
func (p *Peers) TrustsServer(raw string) bool {
	server, ok := serverOf(raw)
	if !ok {
		return false
	}
	p.mu.Lock()
	key, known := p.keys[server]
	p.mu.Unlock()
	return known && p.circle.Has(key)
}

// serverOf names the server of a URL by host, port and whether the connection is encrypted. A relay and the repositories beside it have the
// same name.
func serverOf(raw string) (string, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return "", false
	}
	port, kind := u.Port(), "encrypted"
	switch u.Scheme {
	case "wss", "https":
		if port == "" {
			port = "443"
		}
	case "ws", "http":
		kind = "plain"
		if port == "" {
			port = "80"
		}
	default:
		return "", false
	}
	return kind + " " + strings.ToLower(u.Hostname()) + " " + port, true
}

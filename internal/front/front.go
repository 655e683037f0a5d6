// Package front is what every client meets first, whatever they speak: the public listener and its bounds, who a client is behind which
// proxy, what their address may have of every rate and every pool, and which route answers. What serves clients registers a Route, takes
// what it holds for them from a Pool, and charges the Visitor for the work that they make. Read Route, then Visitor.
package front

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/graspd/graspd/internal/contain"
)

// Config says what the front allows, and to whom. Every field has a default.
type Config struct {
	Rates   Rates
	Proxies []netip.Prefix   // reverse proxies whose X-Forwarded-For is believed
	Now     func() time.Time // nil is time.Now
	Logger  *slog.Logger     // nil is silent
	Faults  *contain.Faults  // where faults in what answers a request are noted; nil is nowhere
	Members Members          // who may ask for what the service has; nil is everybody
}

// Front answers on the public listener. Routes and pools are added before the first request.
type Front struct {
	proxies  []netip.Prefix
	visitors *visitors
	routes   []Route
	underWay underWay
	logger   *slog.Logger
	faults   *contain.Faults
	members  Members // nil for everybody
	visits   visits  // of members
}

// New prepares a front without a route.
func New(c Config) *Front {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return &Front{
		proxies: c.Proxies, visitors: newVisitors(c.Rates.withDefaults(), c.Now, len(c.Proxies) > 0), logger: c.Logger, faults: c.Faults, members: c.Members,
	}
}

// Rates gives the rates of each address, with the defaults filled in.
func (f *Front) Rates() Rates { return f.visitors.rates }

// Handler answers with the routes. It is served by Server, which bounds the time of every request.
func (f *Front) Handler() http.Handler {
	return f.faults.Handler("a request", http.HandlerFunc(f.serve))
}

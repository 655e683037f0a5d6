// Package front meets every client first, whatever they speak. It has the public listener and its bounds. It knows which client is behind
// a proxy, what an address may have of every rate, and which route answers. A package that serves clients registers a Route,
// takes what it holds for clients from an account (internal/base/fair), and charges the Visitor for the work that clients make. Read Route, then Visitor.
package front

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
)

// Config says what a Front allows, and to whom. Every field has a default.
type Config struct {
	Rates   Rates
	Proxies []netip.Prefix   // reverse proxies whose X-Forwarded-For the front believes
	Now     func() time.Time // nil is time.Now
	Logger  *slog.Logger     // nil is silent
	Faults  *contain.Faults  // notes faults in code that answers a request; nil is nothing
	Members Members          // who may ask for what the service has; nil is everybody
}

// Front answers on the public listener. Add all routes and accounts before the first request.
type Front struct {
	proxies   []netip.Prefix
	visitors  *visitors
	routes    []Route
	underWay  underWay
	logger    *slog.Logger
	untrusted sync.Once // warnOfProxy has warned
	faults    *contain.Faults
	members   Members // nil for everybody
	visits    visits  // requests of members under way
}

// New makes a Front without routes.
func New(c Config) *Front {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return &Front{
		proxies: c.Proxies, visitors: newVisitors(c.Rates.withDefaults(), c.Now, len(c.Proxies) > 0), logger: c.Logger, faults: c.Faults, members: c.Members,
	}
}

// Rates returns the rates of each address, with the defaults filled in.
func (f *Front) Rates() Rates { return f.visitors.rates }

// Handler returns a handler that answers with the routes. Server serves it, and bounds the time of every request.
func (f *Front) Handler() http.Handler {
	return f.faults.Handler("a request", http.HandlerFunc(f.serve))
}

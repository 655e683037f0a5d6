package front

import (
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// Route is a part of the service that answers some of the requests.
type Route struct {
	Name string // for tests and logs
	// Door says what a private service demands of whoever asks.
	Door Door
	// Takes reports whether the route answers the request; nil is for requests that no other route takes.
	Takes func(*http.Request) bool
	// Serve answers the request. It may take over the connection; then nothing bounds its time.
	Serve func(http.ResponseWriter, *http.Request, Client)
	// Request is how long the body of a request may take, and Answer how long the answer may take, each from the end of the request's
	// head on; 0 is what Server allows. Serve may set other deadlines as it goes (http.ResponseController).
	Request, Answer time.Duration
	// Keeps says that Serve takes connections over and ends them itself, so that Drain does not wait for it.
	Keeps bool
}

// Client is the client who sends a request.
type Client struct {
	Addr    netip.Addr // invalid where the transport has no addresses, such as a Unix socket
	Visitor *Visitor   // nil for a client without limits; valid while the request is being served
}

// Handle adds a route. Call it before the first request. Of several routes that take a request, the one that was added first answers.
func (f *Front) Handle(r Route) { f.routes = append(f.routes, r) }

// Routes returns the routes in the order in which they were added.
func (f *Front) Routes() []Route { return slices.Clone(f.routes) }

func (f *Front) serve(w http.ResponseWriter, req *http.Request) {
	allowOrigins(w.Header())
	if req.Method == http.MethodOptions {
		w.Header()["Access-Control-Max-Age"] = oneDay
		w.WriteHeader(http.StatusNoContent)
		return
	}
	r := f.routeOf(req)
	if r == nil {
		if f.members != nil {
			Unauthorized(w)
			return
		}
		http.NotFound(w, req)
		return
	}
	if !r.Keeps {
		defer f.underWay.enter()() // before the visit, as Drain waits until that is over too
	}
	addr := f.clientAddr(req)
	one := f.visitors.visit(addr)
	defer f.visitors.leave(one)
	if f.members != nil && r.Door != Open && r.Door != Own {
		in, as, leave, ok := f.admit(w, req, one)
		if !ok {
			return
		}
		defer leave()
		w, req = in, as
	}
	if err := r.extend(w, req, time.Now()); err != nil {
		f.logger.Debug("a connection cannot be given a deadline", "error", err)
	}
	r.Serve(w, req, Client{addr, one})
}

// routeOf returns the route that answers a request, nil if there is none.
func (f *Front) routeOf(req *http.Request) (rest *Route) {
	for i := range f.routes {
		switch r := &f.routes[i]; {
		case r.Takes == nil:
			if rest == nil {
				rest = r
			}
		case r.Takes(req):
			return r
		}
	}
	return rest
}

// extend sets the deadlines of the route for a request, where the route has its own.
func (r *Route) extend(w http.ResponseWriter, req *http.Request, now time.Time) error {
	c := http.NewResponseController(w)
	if r.Request != 0 && req.Body != http.NoBody { // without a body net/http takes the deadline for the client's leaving
		if err := c.SetReadDeadline(now.Add(r.Request)); err != nil {
			return err
		}
	}
	if r.Answer != 0 {
		return c.SetWriteDeadline(now.Add(r.Answer))
	}
	return nil
}

// The values of headers that allowOrigins sets. All answers share them, as nobody changes the values of a header in place.
var (
	everybody  = []string{"*"}
	methods    = []string{"GET, POST, OPTIONS"}
	sent       = []string{"Authorization, Content-Type, Git-Protocol, Accept, Content-Encoding, X-Requested-With"}
	exposed    = []string{"WWW-Authenticate"}
	asDeclared = []string{"nosniff"}
	oneDay     = []string{"86400"} // in seconds
)

// allowOrigins lets every web page use the service (NIP-11, GRASP-01). A header of more than eight fields takes three times the memory of
// a smaller one, and most answers add three fields of their own.
func allowOrigins(h http.Header) {
	h["Access-Control-Allow-Origin"] = everybody
	h["Access-Control-Allow-Methods"] = methods
	h["Access-Control-Allow-Headers"] = sent
	h["Access-Control-Expose-Headers"] = exposed
	h["X-Content-Type-Options"] = asDeclared
}

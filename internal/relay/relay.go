// Package relay is what clients see of graspd on "/" over HTTP and WebSocket. It answers NIP-01, NIP-05, NIP-11, NIP-42, NIP-45, NIP-50 and
// NIP-77, hands events to the door, and sends what the store has and what the feed brings. It decides nothing about events and never
// writes to the store. Each client has one reader and one writer; one dispatcher follows the feed for all clients.
package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/contain"
	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/ledger"
	"github.com/graspd/graspd/internal/nip11"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/store"
	"github.com/graspd/graspd/internal/web"
)

const (
	defaultMaxLag = 100_000         // entries that a session's position may be behind the head
	goodbyeGrace  = 5 * time.Second // for sessions to end in good order
)

// Config says what the relay serves and to whom. Front, Store, Door and Service are needed.
type Config struct {
	Front   *front.Front // on which the relay answers what no other route takes
	Store   *store.Store
	Door    *ingest.Door
	Service grasp.Service  // under which announcements list this relay
	Info    nip11.Document // what the operator says; limits are filled in, and the NIPs that are kept here are added
	About   string         // Markdown that the page for people begins with, the operator's; "" is none
	Look    web.Look       // of the page
	Limits  Limits
	MinPoW  int // bits of proof of work that the door's rules demand (NIP-13), for the information document
	// Serves reports whether a repository with this announcement is here by itself; nil is Service.Lists.
	Serves func(*nip34.Announcement) bool
	// Members says who may use a private relay; nil is everybody.
	Members Members
	// Moved lists the repositories with git data whose refs have changed last, without their refs; nil where none are hosted.
	Moved  func(most int) ([]ledger.Repository, error)
	Now    func() time.Time // nil is time.Now
	Ping   time.Duration    // between two pings to a client; 0 is 30 s
	Logger *slog.Logger     // nil is silent
	Faults *contain.Faults  // where faults in what serves one client are noted; nil is nowhere

	// Challenge makes the challenge of a connection (NIP-42), which nobody may be able to guess; nil is rand.Text.
	Challenge func() string
}

// Relay serves clients. Clients may come before Run is called, but live events flow only while it runs.
type Relay struct {
	store     *store.Store
	door      *ingest.Door
	service   grasp.Service
	look      web.Look
	serves    func(*nip34.Announcement) bool
	members   Members // nil is everybody
	challenge func() string
	limits    Limits
	now       func() time.Time
	ping      time.Duration
	logger    *slog.Logger
	faults    *contain.Faults
	presented atomic.Pointer[presented]
	moved     func(most int) ([]ledger.Repository, error)

	dispatcher  *dispatcher
	reconciles  *reconciles
	front       *front.Front
	pools       pools
	liveBytes   atomic.Int64 // of live events that wait for clients; an event counts for each client
	counts      counts
	listed      listed
	counting    semaphore // for COUNTs that are worked on
	parsing     semaphore // for large messages that are parsed
	maxLag      store.Seq
	buffers     *recycled // for frames that are being read
	corkBuffers *recycled // for frames that wait to be sent together

	mu       sync.Mutex
	sessions map[*session]context.CancelFunc // with the function that ends each at once
	closed   bool
	running  sync.WaitGroup // one for each session
}

// New prepares a relay whose live events are those after the store's present head, and adds its routes to the front. It fails where the
// information document or the page cannot be made.
func New(c Config) (*Relay, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Challenge == nil {
		c.Challenge = rand.Text
	}
	if c.Serves == nil {
		c.Serves = c.Service.Lists
	}
	limits := c.Limits.withDefaults()
	as, err := present(c.Info, c.About, c.MinPoW, c.Look, limits, c.Front.Rates(), c.Service)
	if err != nil {
		return nil, err
	}
	pools := newPools(c.Front, limits)
	r := &Relay{
		store: c.Store, door: c.Door, service: c.Service, challenge: c.Challenge, limits: limits, now: c.Now, ping: cmp.Or(c.Ping, pingEvery), logger: c.Logger, faults: c.Faults,
		moved: c.Moved, serves: c.Serves, members: c.Members, look: c.Look, maxLag: defaultMaxLag,
		dispatcher:  newDispatcher(c.Store, c.Faults),
		reconciles:  newReconciles(c.Store, c.Now, limits.Reconcile, pools.records),
		counting:    make(semaphore, counters),
		parsing:     make(semaphore, parsers()),
		front:       c.Front,
		pools:       pools,
		buffers:     newRecycled(freeBytes),
		corkBuffers: newRecycled(corkBytes + 4<<10),
		sessions:    map[*session]context.CancelFunc{},
	}
	r.presented.Store(as)
	c.Front.Handle(front.Route{Name: "relay", Door: front.Open, Takes: tellsNothing, Serve: r.serveHTTP, Keeps: true})
	c.Front.Handle(front.Route{Name: "relay pages", Door: front.Signed, Serve: r.serveHTTP, Keeps: true})
	return r, nil
}

// Run follows the feed for the sessions until ctx ends. Then it says goodbye to every client (CLOSED, and close code 1001), and returns when
// all sessions have ended, after goodbyeGrace at most. It fails when the feed cannot be read.
func (r *Relay) Run(ctx context.Context) error {
	err := r.dispatcher.run(ctx)
	if err != nil {
		r.endAll(brokenInside)
		return fmt.Errorf("relay: %w", err)
	}
	r.endAll(shuttingDown)
	return nil
}

// endAll takes no more sessions, and ends those that are open: in good order, or at once after goodbyeGrace. It waits for all of them.
func (r *Relay) endAll(bye *goodbye) {
	r.mu.Lock()
	r.closed = true
	for s := range r.sessions {
		s.end(bye)
	}
	r.mu.Unlock()
	late := time.AfterFunc(goodbyeGrace, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, kill := range r.sessions {
			kill()
		}
	})
	r.running.Wait()
	late.Stop()
}

// afterGrace ends a session at once that has not ended in good order within goodbyeGrace.
func afterGrace(kill context.CancelFunc) { time.AfterFunc(goodbyeGrace, kill) }

// join adds a session, unless the relay takes no more.
func (r *Relay) join(s *session, kill context.CancelFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.sessions[s] = kill
	r.running.Add(1)
	return true
}

func (r *Relay) leave(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, s)
	r.running.Done()
}

func (r *Relay) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// Stats are figures of the moment.
type Stats struct {
	Sessions        int   // connected clients
	Subscriptions   int   // open REQs
	Reconciliations int   // open NIP-77 sessions
	LiveBytes       int64 // of live events that wait for clients; an event counts for each client
}

// Stats counts what is open.
func (r *Relay) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := Stats{Sessions: len(r.sessions), Reconciliations: r.reconciles.total(), LiveBytes: r.liveBytes.Load()}
	for s := range r.sessions {
		st.Subscriptions += s.subs.count()
	}
	return st
}

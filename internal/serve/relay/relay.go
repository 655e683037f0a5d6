// Package relay serves clients on "/" over HTTP and WebSocket. It answers NIP-01, NIP-05, NIP-11, NIP-42, NIP-45, NIP-50 and NIP-77, hands
// events to the door, and sends events from the store and from the feed. It decides nothing about events, and never writes to the store.
// Each client has one reader and one writer; one dispatcher follows the feed for all clients.
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

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

const (
	defaultMaxLag = 100_000         // entries that a session may be behind the head of the feed
	goodbyeGrace  = 3 * time.Second // how long sessions may take to end in good order
)

// ruling has the rules in force, with a channel that is closed when others have come into force, which may be nil.
type ruling interface {
	FollowRules() (policy.Rules, <-chan struct{})
}

// Door decides the events of clients: an ingest.Door, here or at another node.
type Door interface {
	Source(ingest.SourceConfig) Source
}

// Source is the queue of the events that one client brings, as an ingest.Source is.
type Source interface {
	Submit(ctx context.Context, e *nostr.Event, from store.Source, reply func(policy.Verdict)) error
	Release(size int)
	Close()
}

// Config says what a Relay serves, and to whom. Front, Store, Rules and Service are required.
type Config struct {
	Front   *front.Front // where the relay answers the requests that no other route takes
	Store   *store.Store
	Door    Door           // decides the events of clients; nil: the relay takes none
	Rules   ruling         // those of the door, or of who decides where there is none
	Service grasp.Service  // the place under which announcements list this relay
	Info    nip11.Document // the operator's description; the relay adds limits and the NIPs that it implements
	About   string         // the operator's Markdown with which the page for people begins; "" is none
	Look    web.Look       // how the page looks
	Limits  Limits
	MinPoW  int // bits of proof of work that the door's rules demand (NIP-13), for the information document
	// Members says who may use a private relay; nil is everybody.
	Members Members
	// Moved returns at most most repositories with git data, without their refs: those whose refs have changed last. nil where none are
	// hosted.
	Moved  func(most int) ([]refdb.Repository, error)
	Now    func() time.Time // nil is time.Now
	Ping   time.Duration    // the time between two pings to a client; 0 is 30 s
	Logger *slog.Logger     // nil is silent
	Faults *contain.Faults  // notes faults in code that serves one client; nil is nothing

	// Challenge makes the challenge of a connection (NIP-42), which nobody may be able to guess; nil is rand.Text.
	Challenge func() string
}

// Relay serves clients. Clients may come before Run, but live events flow only while Run runs.
type Relay struct {
	store     *store.Store
	door      Door // nil where the relay takes no events
	rules     ruling
	service   grasp.Service
	look      web.Look
	members   Members // nil is everybody
	challenge func() string
	limits    Limits
	now       func() time.Time
	ping      time.Duration
	logger    *slog.Logger
	faults    *contain.Faults
	presented atomic.Pointer[presented]
	withheld  atomic.Pointer[string] // why nothing is answered; nil where it is
	moved     func(most int) ([]refdb.Repository, error)

	dispatcher  *dispatcher
	reconciles  *reconciles
	front       *front.Front
	pools       pools
	liveBytes   atomic.Int64 // bytes of live events that wait for clients; an event counts for each client
	counts      counts
	listed      listed
	counting    semaphore // bounds the COUNTs under way
	maxLag      store.Seq
	buffers     *recycled // for frames being read
	corkBuffers *recycled // for frames that wait to be sent together

	mu       sync.Mutex
	sessions map[*session]context.CancelFunc // each with the function that ends it at once
	closed   bool
	running  sync.WaitGroup // one for each session
}

// New makes a Relay and adds its routes to the front. Its live events are those after the present head of the feed. New fails where it
// cannot make the information document or the page.
func New(c Config) (*Relay, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Challenge == nil {
		c.Challenge = rand.Text
	}
	limits := c.Limits.withDefaults()
	as, err := present(c.Info, c.About, c.MinPoW, c.Look, limits, c.Front.Rates(), c.Service)
	if err != nil {
		return nil, err
	}
	pools := newPools(c.Front, limits)
	r := &Relay{
		store: c.Store, door: c.Door, rules: c.Rules, service: c.Service, challenge: c.Challenge, limits: limits, now: c.Now, ping: cmp.Or(c.Ping, pingEvery), logger: c.Logger, faults: c.Faults,
		moved: c.Moved, members: c.Members, look: c.Look, maxLag: defaultMaxLag,
		dispatcher:  newDispatcher(c.Store, c.Faults),
		reconciles:  newReconciles(c.Store, c.Now, limits.Reconcile, pools.records),
		counting:    make(semaphore, counters),
		front:       c.Front,
		pools:       pools,
		buffers:     newRecycled(freeBytes),
		corkBuffers: newRecycled(corkBytes + 4<<10),
		sessions:    map[*session]context.CancelFunc{},
	}
	r.presented.Store(as)
	c.Front.Handle(front.Route{Name: "relay", Door: front.Open, Takes: r.tellsNothing, Serve: r.serveHTTP, Keeps: true})
	c.Front.Handle(front.Route{Name: "relay pages", Door: front.Signed, Serve: r.serveHTTP, Keeps: true})
	return r, nil
}

// Run follows the feed for the sessions until ctx ends. Then it says goodbye to every client (CLOSED, and close code 1001), and returns when
// all sessions have ended, after at most goodbyeGrace. It fails when it cannot read the feed.
func (r *Relay) Run(ctx context.Context) error {
	err := r.dispatcher.run(ctx)
	if err != nil {
		r.endAll(brokenInside)
		return fmt.Errorf("relay: %w", err)
	}
	r.endAll(shuttingDown)
	return nil
}

// endAll makes the relay take no more sessions, and ends the open ones: in good order, or at once after goodbyeGrace. It waits for all.
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

// afterGrace calls kill after goodbyeGrace, for a session that has not ended in good order by then.
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

// Stats counts what is open at the moment.
type Stats struct {
	Sessions        int   // connected clients
	Subscriptions   int   // open REQs
	Reconciliations int   // open NIP-77 sessions
	LiveBytes       int64 // bytes of live events that wait for clients; an event counts for each client
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

package relaysync

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/want"
)

// Engine owns Desired, the peers, and the records of relays. Run is its one goroutine. Any goroutine may call the exported methods.
type Engine struct {
	cfg   Config
	dials chan struct{} // a token for each dial that has just begun
	loads chan struct{} // a token for each local set being read

	desired *want.Desired                 // owned by Run
	wants   map[grasp.RelayURL]*want.Want // owned by Run; every target, with or without a peer
	peers   map[grasp.RelayURL]*shell     // owned by Run
	asks    chan chan []*shell            // Relays asks Run for the peers
	retries chan retry                    // Retry asks Run for a connection
	lists   chan listsChange              // SetLists tells Run
	calm    chan struct{}                 // one slot: a relay has answered all that it was asked; see noteCalm
	dialed  chan grasp.RelayURL           // for the reader of Connections
	window  *batchWindow                  // owned by Run
	cursor  store.Seq                     // owned by Run
	chunk   int                           // entries of the feed to read at once; owned by Run
	records *records                      // owned by Run
	crowded bool                          // more relays are wanted than there are slots; owned by Run
	whole   *wholeSet                     // shared by the peers
	alike   alike                         // shared by the peers

	mailboxes *mailbox.Fold // owned by Run; nil = graspd asks no mailboxes

	running sync.WaitGroup // the peers' goroutines

	following chan struct{} // closed when Run answers asks
	over      chan struct{} // closed when Run answers no more
	delivered atomic.Uint64 // the position in the feed up to which all Wants have been handed out
	rounds    atomic.Uint64 // catch-ups with all bootstrap relays that are through
}

// New returns an Engine. It starts nothing; Run does.
func New(c Config) *Engine {
	c = c.withDefaults()
	e := &Engine{
		cfg:     c,
		dials:   make(chan struct{}, c.DialsAtOnce),
		loads:   make(chan struct{}, c.LoadsAtOnce),
		desired: want.NewDesired(policy.Rules{Service: c.Service, Private: c.Guard != nil, Lists: c.Lists}, c.Bootstrap, want.Bounds{}),
		wants:   make(map[grasp.RelayURL]*want.Want),
		peers:   make(map[grasp.RelayURL]*shell),
		asks:    make(chan chan []*shell), retries: make(chan retry), following: make(chan struct{}), over: make(chan struct{}),
		lists: make(chan listsChange, 1), calm: make(chan struct{}, 1), dialed: make(chan grasp.RelayURL, connectionsKept), window: newBatchWindow(c.BatchWindow), chunk: feedChunk,
		whole: newWholeSet(), mailboxes: newMailboxes(c),
	}
	return e
}

// connectionsKept is how many connections wait for the reader of Connections.
const connectionsKept = 1000

// Connections has the URL of each relay that a dial has just reached, for one reader. The reader does not hear of those beyond its room.
func (e *Engine) Connections() <-chan grasp.RelayURL { return e.dialed }

// Run folds the stored events, then follows the feed until ctx ends. It returns when all peers have ended. It fails when it cannot read the
// store; after the end of ctx it returns nil.
func (e *Engine) Run(ctx context.Context) error {
	defer close(e.over)
	if !e.pause(ctx, e.cfg.StartupDelay) {
		return nil
	}
	var err error
	if e.records, err = readRecords(e.cfg.Store, e.cfg.Peer.Backoff(), e.cfg.Logger); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer e.running.Wait()
	defer e.keepLast()
	defer cancel()
	if err := e.foldStored(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	e.handMailboxes()
	return e.follow(ctx, e.deliver(ctx))
}

// pause waits for d, and returns false when ctx ended first.
func (e *Engine) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// foldStored reads the stored announcements and root events by kind, and then the newest events of all kinds, up to the head of the feed.
func (e *Engine) foldStored(ctx context.Context) error {
	v := e.cfg.Store.View()
	defer v.Close()
	e.cursor = v.Head()
	for _, f := range []nostr.Filter{{Kinds: e.stored()}, {Limit: new(want.MostRecent)}} {
		for row, err := range v.Query(ctx, f) {
			if err != nil {
				return fmt.Errorf("read stored events: %w", err)
			}
			ev, err := row.Event()
			if err != nil {
				return fmt.Errorf("read event %s: %w", row.ID, err)
			}
			e.fold(ev)
		}
	}
	return v.EachWait(func(w store.Waiting) error { e.desired.Await(w.Event); return nil })
}

// deliver hands every relay whose Want changed the new Want, and gives slots to relays that are wanted now. It returns a channel that fires
// when a delayed revision is due; nil when none is delayed.
func (e *Engine) deliver(ctx context.Context) <-chan time.Time {
	now, moved := e.cfg.Now().Mono, false
	for u, w := range e.desired.Changed(now) {
		moved = true
		if w.Moves() {
			e.whole.outdate() // a refused orphan may be accepted now
		}
		if s := e.mailboxOf(u); s != nil {
			w = w.WithMailbox(s)
		}
		e.hand(u, w)
	}
	e.window.handed(now, moved)
	e.delivered.Store(uint64(e.cursor))
	if moved {
		e.assignSlots(ctx, false)
	}
	due, ok := e.desired.Due()
	if !ok {
		return nil
	}
	return time.After(max(e.cfg.BatchWindow, due-e.cfg.Now().Mono))
}

// start makes the peer of a relay, and starts its shell.
func (e *Engine) start(ctx context.Context, u grasp.RelayURL) {
	p := newPeer(e, u, e.machine(u, e.records.past(u)))
	e.peers[u] = p
	p.want(e.wants[u])
	e.running.Go(func() { p.run(ctx) })
}

// machine returns the peer.Peer that decides for a relay, with the relay's record.
func (e *Engine) machine(u grasp.RelayURL, past history.Record) *peer.Peer {
	c := e.cfg.Peer
	c.URL, c.Self, c.Past = u, e.cfg.Self, past
	return peer.NewPeer(c)
}

// end stops the peer of a relay, and waits until its shell has ended. The record of the relay stays, as the relay may be wanted again.
func (e *Engine) end(u grasp.RelayURL) {
	p := e.peers[u]
	p.stop()
	e.records.put(u, p.last())
	delete(e.peers, u)
}

// keep asks all peers for the records of their relays, and writes the records into the store.
func (e *Engine) keep(ctx context.Context) {
	for u, p := range e.peers {
		if s, ok := p.standing(ctx); ok {
			e.records.put(u, s.record)
		}
	}
	e.writeRecords()
}

// keepLast writes the last records of all relays into the store. It waits for the shells, which have been told to end.
func (e *Engine) keepLast() {
	for u, p := range e.peers {
		e.records.put(u, p.last())
	}
	e.writeRecords()
}

// writeRecords writes the records that changed, after dropping those beyond mostRecords.
func (e *Engine) writeRecords() {
	e.records.trim(func(u grasp.RelayURL) bool { return e.peers[u] != nil })
	e.records.keep()
}

// check ends the peers of relays that nothing names any more, and assigns slots anew, by use.
func (e *Engine) check(ctx context.Context) {
	e.handMailboxes()
	for u, w := range e.wants {
		if w.Needed() {
			continue
		}
		delete(e.wants, u)
		if e.peers[u] != nil {
			e.end(u)
			e.cfg.Logger.Info("graspd leaves the relay: nothing asks for it any more", slog.String("relay", string(u)))
		}
	}
	e.whole.expire(e.cfg.Now().Mono)
	e.assignSlots(ctx, true)
}

// sorted returns the peers by URL.
func (e *Engine) sorted() []*shell {
	return slices.SortedFunc(maps.Values(e.peers), func(a, b *shell) int { return cmp.Compare(a.url, b.url) })
}

// Relays asks every peer how its relay stands, and waits for the answers until ctx ends. It returns the answers that came, by URL. It
// returns nothing before Run follows the feed, and after Run has ended.
func (e *Engine) Relays(ctx context.Context) []status.Relay {
	var out []status.Relay
	for _, p := range e.ask(ctx) {
		if s, ok := p.standing(ctx); ok {
			out = append(out, s.status)
		}
	}
	return out
}

// ask gets the peers from Run, by URL.
func (e *Engine) ask(ctx context.Context) []*shell {
	select {
	case <-e.following:
	default:
		return nil
	}
	ask := make(chan []*shell, 1)
	select {
	case e.asks <- ask:
		return <-ask
	case <-e.over:
	case <-ctx.Done():
	}
	return nil
}

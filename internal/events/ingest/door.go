// Package ingest is the one door: every event enters the store through it, whether a client or a remote relay sent it.
// Verifiers check the events on all cores, the sources taking turns. One writer decides the events of each source in their order and
// commits them in batches. The door never reads from a network. It tells no verdict before the commit that makes the verdict true.
package ingest

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Config says what a Door works with. Store is required.
type Config struct {
	Store    *store.Store
	Rules    policy.Rules
	Verifier nostr.Verifier   // nil is nostr.Schnorr
	Now      func() time.Time // the wall clock; nil is time.Now
	Workers  int              // verifiers; 0 is GOMAXPROCS
	Limits   Limits
	Logger   *slog.Logger    // nil is silence
	Faults   *contain.Faults // notes faults in verifying one event; nil is nothing
	Ledger   *refdb.Ledger   // the ledger of the hosted repositories; nil where none are hosted
}

// Limits bounds what strangers can make a Door hold. A field that is 0 has its default.
type Limits struct {
	QueueEvents  int           // undecided events of one party, beyond which Submit waits; 1,024
	QueueBytes   int           // size of the undecided events of one party; 2 MiB
	LeftBytes    int           // size of undecided events of closed sources, beyond which their unverified events are dropped; 32 MiB
	BatchEvents  int           // decisions in one commit; 500, and fewer of large events
	BatchDelay   time.Duration // how long a batch for which no client waits stays open for events on their way; 50 ms
	OrphanEvents int           // events in the orphan buffer; the oldest go first; 10,000
	OrphanBytes  int           // size of the orphan buffer in memory; 32 MiB
	DrainTime    time.Duration // how long Run goes on deciding verified events after its context ended; 5 s
}

func (l Limits) withDefaults() Limits {
	return Limits{
		QueueEvents:  cmp.Or(l.QueueEvents, 1024),
		QueueBytes:   cmp.Or(l.QueueBytes, 2<<20),
		LeftBytes:    cmp.Or(l.LeftBytes, 32<<20),
		BatchEvents:  cmp.Or(l.BatchEvents, 500),
		BatchDelay:   cmp.Or(l.BatchDelay, 50*time.Millisecond),
		OrphanEvents: cmp.Or(l.OrphanEvents, 10_000),
		OrphanBytes:  cmp.Or(l.OrphanBytes, 32<<20),
		DrainTime:    cmp.Or(l.DrainTime, 5*time.Second),
	}
}

// Door is the one way in for events. Build it with New, give its Sources to those who bring events, and Run it once.
type Door struct {
	store    *store.Store
	rules    atomic.Pointer[rulesInForce]
	verifier nostr.Verifier
	now      func() time.Time
	workers  int
	limits   Limits
	log      *slog.Logger
	faults   *contain.Faults
	counts   counters
	unlisted unlisted
	refusals refusals

	stop chan struct{} // closed when the door takes no more Submits
	wake chan struct{} // one slot: the writer has something to do

	ruleChanges chan ruleChange // one slot: new rules for the writer
	ledger      *refdb.Ledger

	mu       sync.Mutex // guards what follows and the fields of the sources; held for short steps in memory only
	work     *sync.Cond // on mu: toCheck has grown, or stopped
	stopped  bool
	toCheck  fairQueue            // sources with unchecked items
	toDecide fairQueue            // sources whose next item is ready
	copies   map[nostr.ID]*sameID // ids in the hands of a verifier, the writer or the orphan buffer
	parties  map[string]*party    // the parties with a name
	coming   int                  // items that the writer has not taken yet
	left     int                  // bytes that closed sources have left undecided
	sources  int                  // open sources
	places   int                  // places taken by all sources

	exclusive exclusiveQueue // work that wants the writer
	atLength  exclusiveQueue // the same, for longer

	large     int           // undecided large events
	largeRoom chan struct{} // closed when there is one fewer; nil while nobody waits
}

// New builds a Door. It does nothing until Run, but Sources may submit events before.
func New(c Config) *Door {
	d := &Door{
		store: c.Store, verifier: c.Verifier, now: c.Now, workers: c.Workers,
		limits: c.Limits.withDefaults(), log: c.Logger, faults: c.Faults, ledger: c.Ledger,
		stop: make(chan struct{}), wake: make(chan struct{}, 1), ruleChanges: make(chan ruleChange, 1),
		copies: make(map[nostr.ID]*sameID), parties: make(map[string]*party),
	}
	d.rules.Store(&rulesInForce{c.Rules, make(chan struct{})})
	d.work = sync.NewCond(&d.mu)
	if d.verifier == nil {
		d.verifier = nostr.Schnorr{}
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.workers <= 0 {
		d.workers = runtime.GOMAXPROCS(0)
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	return d
}

// Source adds a source. The source lives until it is closed and all its events are decided. The door keeps nothing of an idle source.
func (d *Door) Source(c SourceConfig) *Source {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sources++
	return &Source{door: d, conf: c, party: d.joinParty(c.Party)}
}

// Occupied returns how many sources are open, and how many places the events of all sources take.
func (d *Door) Occupied() (sources, places int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sources, d.places
}

// Run verifies, decides and commits until ctx ends. Then it refuses Submits, stops the verifiers, decides and commits the verified events
// within DrainTime, and answers all others with an error. It returns nil.
func (d *Door) Run(ctx context.Context) error {
	var verifiers sync.WaitGroup
	for range d.workers {
		verifiers.Go(d.verify)
	}
	w := newWriter(d)
	w.run(ctx)
	d.halt()
	verifiers.Wait()
	w.drain()
	return nil
}

// halt makes the door refuse new Submits, wakes the waiting ones, and lets each verifier end after the event that it is verifying.
func (d *Door) halt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	close(d.stop)
	d.work.Broadcast()
}

// nudge wakes the writer. It never waits.
func (d *Door) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Package ingest is the one door: every event enters the store through it, whether a client or a remote relay sent it.
// Verifiers check the sources' events in turn on all cores; one writer decides them in the order of each source and
// commits them in batches. It never reads from a network and never tells a verdict before the commit that makes it true.
package ingest

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/contain"
	"github.com/graspd/graspd/internal/ledger"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
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
	Faults   *contain.Faults // where faults in verifying one event are noted; nil is nowhere
	Ledger   *ledger.Ledger  // of the repositories that are hosted; nil is none
}

// Limits bounds what strangers can make a Door hold. A field that is 0 has its default.
type Limits struct {
	QueueEvents  int           // undecided events of one source, beyond which Submit waits; 1,024
	QueueBytes   int           // their size; 2 MiB
	LeftBytes    int           // what closed sources have left undecided, beyond which unverified events are dropped; 32 MiB
	BatchEvents  int           // decisions in one commit; 500, and of large events fewer
	BatchDelay   time.Duration // how long a commit waits for what is on its way when no client waits for it; 50 ms
	OrphanEvents int           // events in the orphan buffer; the oldest go first; 10,000
	OrphanBytes  int           // their size in memory; 32 MiB
	DrainTime    time.Duration // how long Run goes on deciding what is verified after its context ended; 5 s
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

// Door is the way in. Build it with New, give its Sources to those who bring events, and Run it once.
type Door struct {
	store    *store.Store
	rules    policy.Rules // those to begin with; the writer has those of now
	verifier nostr.Verifier
	now      func() time.Time
	workers  int
	limits   Limits
	log      *slog.Logger
	faults   *contain.Faults
	counts   counters
	unlisted unlisted

	stop chan struct{} // closed when no more Submits are taken
	wake chan struct{} // one slot: the writer has something to look at

	rulings chan ruling // one slot: other rules for the writer
	visits  chan visit  // one slot: somebody wants a turn
	ledger  *ledger.Ledger

	mu       sync.Mutex // guards what follows and the fields of the sources; held for short steps in memory only
	work     *sync.Cond // on mu: toCheck has grown, or stopped
	stopped  bool
	toCheck  turns               // sources with unchecked items
	toDecide turns               // sources whose next item is ready
	copies   map[nostr.ID]*proof // ids in the hands of a verifier, the writer or the orphan buffer
	parties  map[string]*party   // those with a name
	coming   int                 // items that the writer has not taken yet
	left     int                 // what closed sources have left undecided, in bytes
	sources  int                 // open ones
	places   int                 // places taken by all sources

	large     int           // large events that are undecided
	largeRoom chan struct{} // closed when there is one fewer; nil when nobody waits
}

// New builds a Door that does nothing until Run, though events may be submitted before.
func New(c Config) *Door {
	d := &Door{
		store: c.Store, rules: c.Rules, verifier: c.Verifier, now: c.Now, workers: c.Workers,
		limits: c.Limits.withDefaults(), log: c.Logger, faults: c.Faults, ledger: c.Ledger,
		stop: make(chan struct{}), wake: make(chan struct{}, 1), rulings: make(chan ruling, 1), visits: make(chan visit, 1),
		copies: make(map[nostr.ID]*proof), parties: make(map[string]*party),
		toCheck: newTurns(checkLane), toDecide: newTurns(decideLane),
	}
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

// Source adds a queue. It lives until it is closed and empty; the door holds nothing of an idle one.
func (d *Door) Source(c SourceConfig) *Source {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sources++
	return &Source{door: d, conf: c, party: d.joinParty(c.Share)}
}

// Held tells how many sources are open, and how many places the events of all sources take.
func (d *Door) Held() (sources, places int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sources, d.places
}

// Run verifies, decides and commits until ctx ends. Then Submits are refused and the verifiers stop; what they have
// verified is decided and committed, within DrainTime; everything else hears an error; and Run returns, with nil.
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

// halt refuses new Submits, wakes those that wait, and lets each verifier end after the event in its hands.
func (d *Door) halt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	close(d.stop)
	d.work.Broadcast()
}

// nudge lets the writer look again. It never waits.
func (d *Door) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Package gitsync completes the repositories that graspd hosts (GRASP-02). It finds out which git data is missing that signed events name, and
// fetches it from the servers that the events name, when gitplan says so. graspd believes no server: it proves what comes, and serves only
// what an event names. Read Sync, then Run.
package gitsync

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/base/histogram"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Fetcher asks a git server. *gitfetch.Client is one.
type Fetcher interface {
	Fetch(context.Context, gitfetch.Request) (gitfetch.Result, error)
	Advertised(context.Context, gitfetch.Request) (gitfetch.Result, error)
}

// Config says what a Sync works with. Host, Store and Fetcher are needed.
type Config struct {
	Host        *hosting.Host
	Store       *store.Store // nil where nobody calls Run
	Fetcher     Fetcher
	Connected   <-chan grasp.RelayURL // relays that are connected again: the plan asks their hosts soon, even if they have failed; may be nil
	Self        nostr.PubKey          // spreads the waits of different relays
	Bootstrap   []grasp.RelayURL      // relays that the operator names; a repository's own URL on them is free of the rule for addresses
	Reticent    bool                  // graspd tells no server what it has that the announcements do not name
	Concurrency int                   // fetches at once; 0 is 8
	Delay       time.Duration         // before the first sweep; 0 is 5 s
	SweepEvery  time.Duration         // between two sweeps over all repositories; 0 is an hour
	Now         func() backoff.Now
	Logger      *slog.Logger    // nil is silent
	Faults      *contain.Faults // takes contained faults; nil drops them
}

// Sync completes repositories. Any number of goroutines may use it.
type Sync struct {
	cfg      Config
	dirty    dirty
	looked   chan look
	ended    chan ending
	quiet    chan uint64
	heard    chan uint64
	asks     chan chan Stats
	told     chan standingAsk
	through  chan chan map[nip34.Address]bool
	over     chan struct{} // closed when Run ends
	fetchLog fetchLog
	counts   counters

	refused refused
	vain    vain

	plan   *gitplan.Plan                 // owned by Run
	under  map[uint64]context.CancelFunc // owned by Run
	logged uint64                        // completed events when Run last logged them; owned by Run
	group  sync.WaitGroup

	took time.Duration // of the last look at changed repositories; owned by lookAround

	upTo uint64          // the number of the last change of rows that lookAround has heard of; owned by it
	more <-chan struct{} // closed when there are more; owned by lookAround

	behind     bool          // too many changed to know each, and no sweep has begun since; owned by lookAround
	upToLooked atomic.Uint64 // the number of the last change that lookAround has looked at; 0 before it has looked at everything once
}

// look is what one look at a repository found.
type look struct {
	lack  gitplan.Lack
	sweep bool // if nothing is missing, the plan asks servers what they advertise
	data  bool // the repository has git data
	at    backoff.Now
	push  bool // this is no look, and says only that a push has failed
}

type ending struct {
	id      uint64
	outcome gitplan.Outcome
}

// standingAsk asks the goroutine of Run for a Standing.
type standingAsk struct {
	of     nip34.Address
	answer chan standing
}

type standing struct {
	gitplan.Standing
	lacking bool
}

type counters struct {
	fetches, failed, bytes, brought, surveys atomic.Uint64
	sweeps                                   atomic.Uint64
	swept, toSweep                           atomic.Int64 // repositories of the sweep under way

	mu   sync.Mutex // guards took
	took [2]histogram.Counts
}

// time counts how long a fetch took. Fetches that failed have counts of their own.
func (c *counters) time(failed bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed {
		c.took[1].Add(took)
	} else {
		c.took[0].Add(took)
	}
}

// New makes a Sync that does nothing before Run.
func New(c Config) *Sync {
	if c.Concurrency <= 0 {
		c.Concurrency = 8
	}
	if c.Delay <= 0 {
		c.Delay = 5 * time.Second
	}
	if c.SweepEvery <= 0 {
		c.SweepEvery = time.Hour
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Sync{
		cfg: c, looked: make(chan look), ended: make(chan ending), quiet: make(chan uint64), heard: make(chan uint64), asks: make(chan chan Stats), told: make(chan standingAsk), through: make(chan chan map[nip34.Address]bool),
		over: make(chan struct{}), under: map[uint64]context.CancelFunc{},
		plan: gitplan.New(gitplan.Config{Self: c.Self, Concurrency: c.Concurrency}),
	}
	s.dirty.init()
	if c.Store != nil {
		_, s.upTo, _, s.more = c.Store.Changes(0) // the first sweep looks at all that came before
	}
	s.fetchLog.init()
	return s
}

// Run completes repositories until ctx ends, and returns when none of its fetches is under way.
func (s *Sync) Run(ctx context.Context) error {
	defer close(s.over)
	defer s.group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.group.Go(func() { s.cfg.Faults.Do("looking for what repositories lack", func() { s.lookAround(ctx) }) })
	timer, tell := time.NewTimer(0), time.NewTicker(tellEvery)
	defer timer.Stop()
	defer tell.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-tell.C:
			s.tell()
			continue
		case x := <-s.looked:
			s.take(s.cfg.Now(), x)
		case x := <-s.ended:
			delete(s.under, x.id)
			s.plan.Ended(s.cfg.Now(), x.id, x.outcome)
		case id := <-s.quiet:
			s.plan.Quiet(id)
		case id := <-s.heard:
			s.plan.Heard(id)
		case u := <-s.cfg.Connected:
			s.plan.Returned(u.Host())
		case answer := <-s.asks:
			answer <- Stats{Plan: s.plan.Stats(s.cfg.Now())}
			continue
		case answer := <-s.through:
			answer <- s.plan.Through(s.cfg.Now())
			continue
		case q := <-s.told:
			x, ok := s.plan.Standing(s.cfg.Now(), q.of)
			q.answer <- standing{x, ok}
			continue
		}
		s.step(ctx, timer)
	}
}

// tellEvery is the time between two log lines about progress.
const tellEvery = time.Minute

// tell logs how many events are complete, if these are more than the last time.
func (s *Sync) tell() {
	brought := s.counts.brought.Load()
	if brought == s.logged {
		return
	}
	s.logged = brought
	s.cfg.Logger.Info("git data from other servers completed events that waited", "count", brought, "left", s.plan.Stats(s.cfg.Now()).Lacking)
}

func (s *Sync) take(now backoff.Now, x look) {
	switch {
	case x.push:
		s.plan.PushFailed(now, x.lack.Of)
		return
	case x.sweep && x.data && len(x.lack.Needs) == 0:
		for _, source := range x.lack.Sources {
			s.plan.Survey(x.lack.Of, source)
		}
	}
	s.plan.Lacks(now, x.lack)
}

// step asks the plan what to do, and does it.
func (s *Sync) step(ctx context.Context, timer *time.Timer) {
	do := s.plan.Step(s.cfg.Now())
	for _, id := range do.Stop {
		if cancel := s.under[id]; cancel != nil {
			cancel()
		}
	}
	for _, f := range do.Start {
		own, cancel := context.WithCancel(ctx)
		s.under[f.ID] = cancel
		s.group.Go(func() {
			defer cancel()
			x := ending{f.ID, gitplan.Outcome{Answer: gitplan.Ours}}
			s.cfg.Faults.Do("a fetch from another git server", func() { x.outcome = s.fetch(own, f) })
			select {
			case s.ended <- x:
			case <-ctx.Done():
			}
		})
	}
	if do.Wake > 0 {
		timer.Reset(do.Wake)
	} else {
		timer.Stop()
	}
}

// planned translates what a repository lacks into the terms of the plan.
func (s *Sync) planned(l refdb.Lack, now time.Time) gitplan.Lack {
	out := gitplan.Lack{Of: l.Of, Sources: l.Sources}
	for _, n := range l.Needs {
		x := gitplan.Need{Event: n.Event, Sources: n.Sources, Alone: s.refused.any(n.IDs)}
		switch {
		case n.Pushed:
			x.After = max(0, gitplan.PushWithin-now.Sub(time.Unix(n.Came, 0)))
		case n.Came == 0:
			x.After = servedAfter
		}
		out.Needs = append(out.Needs, x)
	}
	return out
}

// servedAfter is how long Run waits for the data of a served event before it asks other servers, as another repository here may have the data.
const servedAfter = 2 * time.Second

// Source is a URL that a repository may be fetched from.
type Source = grasp.Source

package gitsync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// dirtyKept bounds the identifiers that wait for a look. Beyond it, lookAround looks at all repositories.
const dirtyKept = 10_000

// dirty has the identifiers whose events have changed since the last look at them.
type dirty struct {
	mu    sync.Mutex
	names map[string]bool
	push  map[nip34.Address]bool // repositories whose pushes have failed
	all   bool                   // more than dirtyKept came
	wake  chan struct{}
}

func (x *dirty) init() {
	x.names, x.push, x.wake = map[string]bool{}, map[nip34.Address]bool{}, make(chan struct{}, 1)
}

func (x *dirty) put(d string) {
	x.mu.Lock()
	if len(x.names) < dirtyKept {
		x.names[d] = true
	} else {
		x.all = true
	}
	x.mu.Unlock()
	x.nudge()
}

// putAll has lookAround look at all repositories.
func (x *dirty) putAll() {
	x.mu.Lock()
	x.all = true
	x.mu.Unlock()
	x.nudge()
}

func (x *dirty) failed(of nip34.Address) {
	x.mu.Lock()
	if len(x.push) < dirtyKept {
		x.push[of] = true
	}
	x.mu.Unlock()
	x.nudge()
}

func (x *dirty) nudge() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// none reports whether nothing waits for a look.
func (x *dirty) none() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.names) == 0 && !x.all
}

func (x *dirty) take() (names map[string]bool, push map[nip34.Address]bool, all bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	names, push, all = x.names, x.push, x.all
	x.names, x.push, x.all = map[string]bool{}, map[nip34.Address]bool{}, false
	return names, push, all
}

// lookAround looks at changed repositories, and at all from time to time.
func (s *Sync) lookAround(ctx context.Context) {
	sweep := time.NewTimer(s.cfg.Delay)
	defer sweep.Stop()
	first := true
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.more:
			s.hear()
		case of := <-s.cfg.Host.FailedPushes():
			s.dirty.failed(of)
		case <-s.dirty.wake:
			if sleep.For(ctx, s.gather()) == nil && s.lookAtChanged(ctx) {
				sweep.Reset(0)
			}
		case <-sweep.C:
			if s.sweep(ctx, !first) {
				sweep.Reset(0)
				continue
			}
			first = false
			sweep.Reset(s.cfg.SweepEvery)
		}
	}
}

// Pauses between two looks at changed repositories. They leave most of a processor's time to others, whatever strangers send.
const (
	gatherFor = 100 * time.Millisecond
	restTimes = 4 // the pause is so many times as long as the look
)

// gather returns how long identifiers gather before the next look.
func (s *Sync) gather() time.Duration { return max(gatherFor, s.took*restTimes) }

// hear takes out of the feed of rows which repositories may lack something else.
func (s *Sync) hear() {
	names, at, all, more := s.cfg.Store.Changes(s.upTo)
	s.upTo, s.more = at, more
	for _, n := range names {
		if d, is := strings.CutPrefix(n, refdb.LacksPrefix); is {
			s.dirty.put(d)
		}
	}
	if all {
		s.dirty.putAll()
	}
	if s.dirty.none() {
		s.lookedUpTo(at)
	}
}

// lookedUpTo notes that lookAround has looked at whatever the changes of rows up to a number concern.
func (s *Sync) lookedUpTo(at uint64) {
	if s.counts.sweeps.Load() > 0 && !s.behind {
		s.upToLooked.Store(at)
	}
}

// lookAtChanged looks at the changed repositories. all says that there were too many to know each.
func (s *Sync) lookAtChanged(ctx context.Context) (all bool) {
	begun := s.cfg.Now().Mono
	defer func() { s.took = s.cfg.Now().Mono - begun }()
	s.hear()
	upTo := s.upTo
	names, push, all := s.dirty.take()
	if all {
		names = nil // the caller looks at all repositories instead
	}
	for _, d := range slices.Sorted(maps.Keys(names)) {
		if err := s.lookAt(ctx, d); err != nil {
			s.report("what repositories lack", err)
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(push), nip34.Address.Compare) {
		var x look
		x.lack.Of, x.push = of, true
		s.send(ctx, x)
	}
	s.behind = s.behind || all
	s.lookedUpTo(upTo)
	return all
}

func (s *Sync) lookAt(ctx context.Context, d string) error {
	var list addresses
	err := s.cfg.Host.Announced(ctx, d, list.add)
	for _, of := range list.all {
		if err == nil {
			err = s.look(ctx, of, false)
		}
	}
	return err
}

// addresses is a list with each address once.
type addresses struct {
	all  []nip34.Address
	seen map[nip34.Address]bool
}

func (x *addresses) add(of nip34.Address) error {
	if x.seen == nil {
		x.seen = map[nip34.Address]bool{}
	}
	if !x.seen[of] {
		x.seen[of] = true
		x.all = append(x.all, of)
	}
	return nil
}

// look finds out what a repository lacks, and sends that to Run, which tells the plan.
func (s *Sync) look(ctx context.Context, of nip34.Address, sweep bool) error {
	l, err := s.cfg.Host.Lacks(ctx, of)
	if err != nil {
		return err
	}
	now := s.cfg.Now()
	x := look{sweep: sweep, data: !l.Dir.IsZero(), at: now, lack: s.planned(l, now.Wall)}
	if !l.Hosted {
		x.lack.Needs, x.data = nil, false
	}
	s.fetchLog.looked(l)
	s.send(ctx, x)
	return nil
}

func (s *Sync) send(ctx context.Context, x look) {
	select {
	case s.looked <- x:
	case <-ctx.Done():
	}
}

// sweep looks at all repositories. With survey, it has the plan compare those that lack nothing with what other servers advertise. In between
// it looks at repositories that change meanwhile. again says that too many changed to know each, so that another sweep is due.
func (s *Sync) sweep(ctx context.Context, survey bool) (again bool) {
	var list addresses
	upTo := s.upTo
	s.behind = false
	err := s.cfg.Host.Announced(ctx, "", list.add)
	if err == nil {
		err = s.cfg.Host.Contributed(ctx, list.add)
	}
	if err != nil {
		s.report("the repositories", err)
		return false
	}
	all := list.all
	if n := len(all); survey && n > 0 { // each sweep begins elsewhere, for repositories whose surveys find no room
		begin := int(s.counts.sweeps.Load() * uint64(n) * 5 / 8 % uint64(n))
		all = append(all[begin:], all[:begin]...)
	}
	s.counts.swept.Store(0)
	s.counts.toSweep.Store(int64(len(all)))
	var rest time.Duration
	if survey && len(all) > 0 {
		rest = min(s.cfg.SweepEvery/time.Duration(2*len(all)), time.Second)
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	var gathered <-chan time.Time // nil while nothing has changed
	for _, of := range all {
		for waits := true; waits; {
			select {
			case <-ctx.Done():
				return false
			case <-s.more:
				s.hear()
			case of := <-s.cfg.Host.FailedPushes():
				s.dirty.failed(of)
			case <-s.dirty.wake:
				if gathered == nil {
					gathered = time.After(s.gather())
				}
			case <-gathered:
				gathered = nil
				again = s.lookAtChanged(ctx) || again
			case <-pause.C:
				waits = false
			}
		}
		if err := s.look(ctx, of, survey); err != nil {
			s.report("what a repository lacks", err)
		}
		s.counts.swept.Add(1)
		pause.Reset(rest)
	}
	s.counts.sweeps.Add(1)
	s.lookedUpTo(max(upTo, s.upToLooked.Load()))
	if gathered != nil {
		s.dirty.nudge()
	}
	return again
}

// report logs an error, unless it is that of a context that has ended.
func (s *Sync) report(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, ingest.ErrStopped) {
		s.cfg.Logger.Error("fetching git data from other servers failed", "part", what, "error", err)
	}
}

package ingest_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// workLife is a door at which many want things at once: events, of which some are at fault, and work, of which some fails. Now and then the disk is full
// at a commit. It knows what everybody has heard.
type workLife struct {
	*faulty
	repo, odd *nostr.Event
	full      atomic.Bool

	mu     sync.Mutex
	random *rand.Rand
	works  map[int]error // how work has ended, by its number
	events map[*nostr.Event]policy.Verdict
	tips   map[*nostr.Event]error // pull requests that wait, and how the work ended that brought their commits
}

func (l *workLife) dice(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(n)
}

// work does one piece of work. It counts itself, and leaves the count under its number.
func (l *workLife) work(n int) {
	how, long := l.dice(8), l.dice(4) == 0
	times := 0
	work := func(t *ingest.Exclusive) error {
		times++
		if how == 0 {
			return errBroken
		}
		if how == 1 && times == 1 {
			return t.Serve([]nostr.ID{{7, byte(n), byte(n >> 8)}})
		}
		if l.dice(4) == 0 {
			time.Sleep(time.Duration(l.dice(5)) * time.Millisecond)
		}
		row, err := t.Row("test/count")
		if err != nil {
			return err
		}
		var count uint32
		if row != nil {
			count = binary.BigEndian.Uint32(row)
		}
		now := binary.BigEndian.AppendUint32(nil, count+1)
		if err := errors.Join(t.SetRow("test/count", now), t.SetRow(fmt.Sprint("test/", n), now)); err != nil {
			return err
		}
		switch {
		case how == 2:
			return errBroken
		case how == 3 && times < 3:
			return t.Serve([]nostr.ID{{8, byte(n), byte(n >> 8)}})
		case how == 4:
			return t.Remove(l.odd.ID, store.ReasonBarred)
		}
		return nil
	}
	ctx, cancel := context.WithCancel(l.Context())
	defer cancel()
	if l.dice(5) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(l.dice(8))*time.Millisecond)
		defer cancel()
	}
	wants := l.door.Exclusively
	if long {
		wants = l.door.AtLength
	}
	err := wants(ctx, fmt.Sprint(n%3), work)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.works[n] = err; err == nil && (how == 0 || how == 2 || how == 4) {
		l.Errorf("work %d, which fails (%d), has succeeded", n, how)
	}
}

// brings announces a pull request and has its commit arrive.
func (l *workLife) brings(n int) {
	pr := pullRequest(9, time.Now(), 100+n, l.repo)
	if v := l.submitAny(l.client(), pr); v.Outcome != policy.Wait {
		return
	}
	dice := l.dice(3)
	err := l.door.Exclusively(l.Context(), "", func(t *ingest.Exclusive) error {
		a, err := l.ledger.Arrive(t.Turn, refdb.Arrival{Of: addressOf(l.repo), Tips: []nostr.ID{pr.ID}, Admit: func(dir refdb.Dir) error {
			l.on.mu.Lock()
			defer l.on.mu.Unlock()
			l.shelf.put(dir, commitID(100+n))
			return nil
		}})
		if err == nil {
			err = t.Serve(a.Release)
		}
		if err == nil && dice == 0 {
			err = errBroken
		}
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tips[pr] = err
}

// submitAny publishes an event and returns the verdict; where the door closes, that is one of failure.
func (l *workLife) submitAny(s *ingest.Source, e *nostr.Event) policy.Verdict {
	c := make(chan policy.Verdict, 1)
	if err := s.Submit(l.Context(), e, store.Direct, func(v policy.Verdict) { c <- v }); err != nil {
		return policy.Verdict{Outcome: policy.Failed}
	}
	return <-c
}

func (l *workLife) event(n int) {
	e := issue(2, l.repo, time.Now(), fmt.Sprint(n))
	switch l.dice(12) {
	case 0: // it cannot be settled
		e = event(3, time.Now(), nip34.KindPullRequest, fmt.Sprint(n), nostr.Tag{"a", l.odd.Address()})
	case 1: // it cannot be decided
		e = event(3, time.Now(), nip34.KindPullRequest, fmt.Sprint(n), nostr.Tag{"a", l.repo.Address()}, nostr.Tag{"c", commitID(5).String()})
	case 2:
		e = stateOf(1, "tool", time.Now().Add(time.Duration(n)*time.Second), "main=1 dev=1")
	}
	s := l.client()
	if l.dice(2) == 0 {
		s = l.peer(fmt.Sprint("peer", n%3))
	}
	v := l.submitAny(s, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events[e] = v
}

// lives has eight people do things, and ends the door in the middle of it where ends says so.
func (l *workLife) lives(ends bool) {
	var all sync.WaitGroup
	for who := range 8 {
		all.Go(func() {
			for i := range 25 {
				n := who*100 + i
				switch l.dice(6) {
				case 0:
					time.Sleep(time.Duration(l.dice(30)) * time.Millisecond)
				case 1:
					l.brings(n)
				case 2, 3:
					l.event(n)
				default:
					l.work(n)
				}
			}
		})
	}
	all.Go(func() {
		for range 3 {
			time.Sleep(time.Duration(10+l.dice(60)) * time.Millisecond)
			l.full.Store(true)
			time.Sleep(time.Duration(l.dice(4)) * time.Millisecond)
			l.full.Store(false)
		}
	})
	if ends {
		time.Sleep(time.Duration(20+l.dice(150)) * time.Millisecond)
		l.end()
	}
	all.Wait()
}

// require requires that everything is as everybody has heard.
func (l *workLife) require() {
	l.Helper()
	count := 0
	seen := map[string]bool{}
	v := l.store.View()
	defer v.Close()
	row := func(name string) []byte {
		b, err := v.Row("test/" + name)
		if err != nil {
			l.Fatal(err)
		}
		return b
	}
	for n, err := range l.works {
		b := row(fmt.Sprint(n))
		if (b != nil) != (err == nil) {
			l.Errorf("work %d has ended with %v, and is durable: %v", n, err, b != nil)
		}
		if b != nil {
			count++
			if seen[string(b)] || int(binary.BigEndian.Uint32(b)) > len(l.works) {
				l.Errorf("work %d counts as %x, as other work does", n, b)
			}
			seen[string(b)] = true
		}
	}
	if b := row("count"); count > 0 && int(binary.BigEndian.Uint32(b)) != count {
		l.Errorf("%x were counted, and %d have succeeded", b, count)
	}
	for e, x := range l.events {
		_, is, err := v.Get(e.ID)
		if err != nil {
			l.Fatal(err)
		}
		if e.Kind == nip34.KindState {
			continue // others take its place
		}
		if is != (x.Outcome == policy.Accept) {
			l.Errorf("%s %q, and the event is stored: %v", x.Outcome, x.Reason, is)
		}
	}
	r, err := refdb.Read(v, addressOf(l.repo))
	if err != nil {
		l.Fatal(err)
	}
	has := map[gitwire.ObjectID]bool{}
	for _, ref := range r.Refs.All() {
		has[ref.ID] = true
	}
	for pr, err := range l.tips {
		_, is, failed := v.Get(pr.ID)
		tip, _ := gitwire.ParseObjectID([]byte(pr.Tags[0][1]))
		if failed != nil || err == nil && !is || is != has[tip] {
			l.Errorf("a commit has come (%v), its event is served: %v, its ref is there: %v", err, is, has[tip])
		}
	}
}

// TestLivesOfWork: whatever happens to the batches in which work and events are together, everybody hears the truth, and nothing is done twice or lost.
func TestLivesOfWork(t *testing.T) {
	for seed := range uint64(scaled(60, 15)) {
		synctest.Test(t, func(t *testing.T) {
			fs := newMem()
			l := &workLife{random: rand.New(rand.NewPCG(seed, 7)), works: map[int]error{}, events: map[*nostr.Event]policy.Verdict{}, tips: map[*nostr.Event]error{}}
			l.faulty = newFaulty(t, setup{fs: fs, opt: store.Options{FreeSpace: fullAtCommit(&l.full)}})
			now := time.Now()
			l.repo, l.odd = l.hosts(1, "tool", now), l.hosts(2, "odd", now)
			l.damage(addressOf(l.odd), []byte("nonsense"))
			l.on.spoil(5, true)
			ends := seed%3 == 0
			l.lives(ends)
			if !ends {
				l.require()
				l.end()
			}
			l.faulty = newFaulty(t, setup{fs: fs})
			l.require()
			l.end()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

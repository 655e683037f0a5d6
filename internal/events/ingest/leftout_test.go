package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var errPlanted = errors.New("planted")

// spoilt is a shelf on which looking for some commits fails.
type spoilt struct {
	shelf
	mu  sync.Mutex
	bad map[gitwire.ObjectID]bool
}

func (s *spoilt) Missing(rows refdb.Rows, dir refdb.Dir, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if s.bad[id] {
			return nil, errPlanted
		}
	}
	return s.shelf.Missing(rows, dir, ids)
}

func (s *spoilt) spoil(n int, bad bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == nil {
		s.bad = map[gitwire.ObjectID]bool{}
	}
	s.bad[commitID(n)] = bad
}

// faulty is a host with a spoilt shelf and a log.
type faulty struct {
	*host
	on  *spoilt
	log *bytes.Buffer
}

func newFaulty(t *testing.T, s setup) *faulty {
	f := &faulty{on: &spoilt{shelf: shelf{}}, log: &bytes.Buffer{}}
	s.config.Logger = slog.New(slog.NewTextHandler(f.log, nil))
	s.objects = f.on
	f.host = newHost(t, s)
	f.host.shelf = f.on.shelf
	return f
}

// hosts has a served repository with main=1.
func (f *faulty) hosts(author int, d string, at time.Time) *nostr.Event {
	f.Helper()
	repo := hostedBy(f.T, author, d, at)
	f.want(f.publish(f.client(), repo), policy.Wait)
	f.want(f.publish(f.client(), stateOf(author, d, at, "main=1")), policy.Wait)
	f.push(addressOf(repo), command("refs/heads/main", 0, 1))
	f.served(repo)
	return repo
}

// damage makes the row of a repository one that nobody can read.
func (f *faulty) damage(of nip34.Address, row []byte) {
	f.Helper()
	if err := f.door.Exclusively(context.Background(), "", func(t *ingest.Exclusive) error { return t.SetRow(refdb.RowName(of), row) }); err != nil {
		f.Fatal(err)
	}
}

// leaves requires that so many faults were counted, that the log names these events, and that no batch failed for want of a disk.
func (f *faulty) leaves(faults int, events ...*nostr.Event) {
	f.Helper()
	if s := f.door.Stats(); s.Faults != uint64(faults) || s.Failures != 0 {
		f.Errorf("%d faults and %d failures, want %d: %s", s.Faults, s.Failures, faults, f.log)
	}
	for _, e := range events {
		if !strings.Contains(f.log.String(), "event="+e.ID.String()) {
			f.Errorf("the log does not name kind %d", e.Kind)
		}
	}
}

// all submits events one after the other, so that they share a batch, and returns their verdicts, which have to come in that order.
func (f *faulty) all(s *ingest.Source, events ...*nostr.Event) []policy.Verdict {
	f.Helper()
	type heard struct {
		i int
		v policy.Verdict
	}
	all := make(chan heard, len(events))
	for i, e := range events {
		if err := s.Submit(context.Background(), e, store.Direct, func(v policy.Verdict) { all <- heard{i, v} }); err != nil {
			f.Fatal(err)
		}
	}
	var out []policy.Verdict
	for i := range events {
		h := <-all
		if h.i != i {
			f.Fatalf("verdict %d is that on event %d", i, h.i)
		}
		out = append(out, h.v)
	}
	return out
}

// others are events that have nothing to do with what is at fault.
func (f *faulty) others(repo *nostr.Event, n int) (out []*nostr.Event) {
	for i := range n {
		out = append(out, issue(7, repo, time.Now(), fmt.Sprint("other ", i)))
	}
	return out
}

// costs has events decided in one batch, with the bad ones among others. Each bad one hears an error, every other event is stored, and the
// verdicts come in order.
func (f *faulty) costs(good []*nostr.Event, bad ...*nostr.Event) {
	f.Helper()
	events := slices.Clone(good)
	for i, e := range bad {
		events = slices.Insert(events, (i+1)*len(events)/(len(bad)+1), e)
	}
	for i, v := range f.all(f.peer("all"), events...) {
		isBad := slices.Contains(bad, events[i])
		if isBad && (v.Outcome != policy.Failed || !strings.HasPrefix(v.Reason, "error: this relay fails over this event")) || !isBad && v.Outcome != policy.Accept {
			f.Errorf("%d, bad %v: %s %q", i, isBad, v.Outcome, v.Reason)
		}
	}
	f.served(good...)
	for _, e := range bad {
		if k := f.known(e); k.State != store.Unknown {
			f.Errorf("what is left out is known: %+v", k)
		}
	}
}

// TestADecisionThatFailsCostsItsEvent, and it may come again.
func TestADecisionThatFailsCostsItsEvent(t *testing.T) {
	f := newFaulty(t, setup{})
	defer f.end()
	now := time.Now()
	repo := f.hosts(1, "tool", now)
	f.on.spoil(5, true)
	bad := pullRequest(2, now, 5, repo)
	f.costs(f.others(repo, 9), bad)
	f.leaves(1, bad)
	f.on.spoil(5, false)
	f.want(f.publish(f.client(), bad), policy.Wait)
}

// TestWhatASettledRepositoryFailsOver: nobody knows which event of a batch it is, so the writer finds out.
func TestWhatASettledRepositoryFailsOver(t *testing.T) {
	for _, n := range []int{1, 2, 7, 100} {
		f := newFaulty(t, setup{})
		now := time.Now()
		repo, odd := f.hosts(1, "tool", now), f.hosts(2, "odd", now)
		f.damage(addressOf(odd), []byte("nonsense"))
		bad := []*nostr.Event{hostedBy(t, 2, "odd", now.Add(time.Second)), event(3, now, nip34.KindPullRequest, "", nostr.Tag{"a", odd.Address()}, nostr.Tag{"a", repo.Address()})}
		f.costs(f.others(repo, n), bad...)
		f.leaves(2, bad...)
		f.costs(f.others(repo, n+3)[n:])
		f.end()
	}
}

// TestAnOrphanThatFailsCostsItself, and not the event that it has waited for.
func TestAnOrphanThatFailsCostsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t, setup{})
		defer f.end()
		now := time.Now()
		f.hosts(1, "tool", now)
		next := elsewhere(3, "tool", now, maintainers(1))
		f.on.spoil(5, true)
		bad, good := stateOf(3, "tool", now, "main=5"), issue(4, next, now, "good")
		for _, v := range f.all(f.peer("a"), bad, good) {
			f.wantOrphan(v)
		}
		f.want(f.publish(f.client(), hostedBy(t, 1, "tool", now.Add(time.Second), maintainers(3))), policy.Accept)
		f.want(f.publish(f.client(), next), policy.Accept)
		time.Sleep(5 * time.Second)
		f.served(next, good)
		f.leaves(1, bad)
		if n := f.door.Stats().Orphans; n != 0 {
			t.Errorf("%d orphans are held", n)
		}
	})
}

// TestAnEventThatCannotBeReleasedWaits: neither the event nor the push to which that would be due fails.
func TestAnEventThatCannotBeReleasedWaits(t *testing.T) {
	f := newFaulty(t, setup{})
	defer f.end()
	now := time.Now()
	repo := hostedBy(t, 1, "tool", now)
	first, bad := stateOf(1, "tool", now, "main=1"), pullRequest(2, now, 5, repo)
	for _, e := range []*nostr.Event{repo, first, bad} {
		f.want(f.publish(f.client(), e), policy.Wait)
	}
	f.on.spoil(5, true)
	if v := f.push(addressOf(repo), command("refs/heads/main", 0, 1)); v.Refused() {
		t.Fatalf("%+v", v)
	}
	f.served(repo, first)
	f.waits(bad)
	f.leaves(1, bad)
	f.want(f.publish(f.client(), stateOf(1, "tool", now.Add(time.Second), "main=1 dev=1")), policy.Accept)
	f.leaves(1)
	f.end()

	f = newFaulty(t, setup{})
	defer f.end()
	f.hosts(1, "tool", now)
	f.want(f.publish(f.client(), bad), policy.Wait)
	f.on.spoil(5, true)
	f.want(f.publish(f.client(), stateOf(1, "tool", now.Add(time.Second), "main=1 dev=1")), policy.Accept)
	f.waits(bad)
	f.leaves(1, bad)
}

// TestAnExpiryThatFailsCostsItsEvent: it is served on until the next start, and everything else expires.
func TestAnExpiryThatFailsCostsItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t, setup{})
		defer f.end()
		now := time.Now()
		repo, odd := f.hosts(1, "tool", now), f.hosts(2, "odd", now)
		soon := nostr.Tag{"expiration", fmt.Sprint(now.Unix() + 900)}
		bad := event(3, now, nip34.KindPullRequest, "", nostr.Tag{"a", odd.Address()}, soon)
		f.want(f.publish(f.client(), bad), policy.Accept)
		var good []*nostr.Event
		for i := range 250 {
			good = append(good, event(3, now, nip34.KindIssue, fmt.Sprint(i), nostr.Tag{"a", repo.Address()}, soon))
			f.want(f.publish(f.client(), good[i]), policy.Accept)
		}
		f.damage(addressOf(odd), []byte("nonsense"))
		time.Sleep(20 * time.Minute)
		left := 0
		for _, e := range good {
			if f.known(e).State == store.Stored {
				left++
			}
		}
		if left > 0 {
			t.Errorf("%d did not expire", left)
		}
		f.leaves(1, bad)
		f.costs(f.others(repo, 3))
	})
}

// TestATurnThatFailsAtItsEndCostsItself: those who published just before hear OK.
func TestATurnThatFailsAtItsEndCostsItself(t *testing.T) {
	f := newFaulty(t, setup{})
	defer f.end()
	now := time.Now()
	repo, odd := f.hosts(1, "tool", now), f.hosts(2, "odd", now)
	f.damage(addressOf(odd), []byte("nonsense"))
	p := f.peer("a")
	var heard []<-chan policy.Verdict
	for _, e := range f.others(repo, 5) {
		heard = append(heard, f.submit(p, e, store.Live))
	}
	err := f.door.Exclusively(context.Background(), "", func(t *ingest.Exclusive) error { return t.Remove(odd.ID, store.ReasonBarred) })
	if err == nil {
		t.Error("a turn that cannot be settled succeeds")
	}
	for _, c := range heard {
		f.want(<-c, policy.Accept)
	}
	f.leaves(1)
	f.served(odd)
}

// TestManyEventsAtFault: the work stays in proportion to the events, and everybody else is served.
func TestManyEventsAtFault(t *testing.T) {
	var asked atomic.Int64 // a decision asks for the time now and then
	took := func(damaged bool) int64 {
		f := newFaulty(t, setup{config: ingest.Config{Now: func() time.Time { asked.Add(1); return time.Now() }}})
		defer f.end()
		now := time.Now()
		repo, odd := f.hosts(1, "tool", now), f.hosts(2, "odd", now)
		good := f.others(repo, 300)
		var bad []*nostr.Event
		for i := range 300 {
			bad = append(bad, event(3, now, nip34.KindPullRequest, fmt.Sprint(i), nostr.Tag{"a", odd.Address()}))
		}
		before := asked.Load()
		if damaged {
			f.damage(addressOf(odd), []byte("nonsense"))
			f.costs(good, bad...)
			f.leaves(300)
		} else {
			f.costs(append(good, bad...))
		}
		return asked.Load() - before
	}
	if quiet, faulty := took(false), took(true); faulty > 8*quiet {
		t.Errorf("%d questions with faults, %d without", faulty, quiet)
	}
}

// silence is a log of the engine that says nothing.
type silence struct{}

func (silence) Infof(string, ...any)  {}
func (silence) Errorf(string, ...any) {}
func (silence) Fatalf(string, ...any) {}

// plant writes rows into the store of a world that has ended.
func plant(t *testing.T, fs vfs.FS, rows map[string][]byte) {
	t.Helper()
	db, err := pebble.Open("data", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: silence{}})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range rows {
		if err := db.Set([]byte(k), v, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedRowsCostTheirEvents: rows that nobody can read keep no other wait from ending, and no batch from being stored.
func TestDamagedRowsCostTheirEvents(t *testing.T) {
	for name, rows := range map[string]map[string][]byte{
		"the end of no wait":           {string(layout.TimedKey(layout.TableWaitOver, 5, nostr.ID{7})): nil},
		"what is to be forgotten":      {string(layout.TimedKey(layout.TableQueue, 5, nostr.ID{7})): nil, string(layout.IDKey(layout.TableRecord, nostr.ID{7})): {1}},
		"what expires":                 {string(layout.TimedKey(layout.TableExpiry, 5, nostr.ID{7})): nil, string(layout.IDKey(layout.TableID, nostr.ID{7})): {1}},
		"a deletion that is under way": {string(layout.UnfinishedKey(nostr.PubKey{7}, 1)): {1}},
		"what a deletion has left":     {string(layout.TimedKey(layout.TableUnused, 5, nostr.ID{7})): {1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := newMem()
				f := newFaulty(t, setup{fs: fs})
				waits := hostedBy(t, 1, "tool", time.Now())
				f.want(f.publish(f.client(), waits), policy.Wait)
				f.end()
				plant(t, fs, rows)
				f = newFaulty(t, setup{fs: fs})
				defer f.end()
				soon := event(1, time.Now(), nip34.KindRepository, "", nostr.Tag{"d", "other"}, nostr.Tag{"expiration", fmt.Sprint(time.Now().Unix() + 1200)},
					nostr.Tag{"clone", mustService(t).CloneURL(key(1), "other")}, nostr.Tag{"relays", "wss://" + domain})
				f.want(f.publish(f.client(), soon), policy.Wait)
				f.want(f.publish(f.client(), stateOf(1, "other", time.Now(), "")), policy.Accept)
				time.Sleep(time.Hour)
				if k := f.known(waits); k.State != store.Remembered || k.Why != policy.Lapsed {
					t.Errorf("what waited: %+v", k)
				}
				if k := f.known(soon); k.State == store.Stored {
					t.Errorf("what expired: %+v", k)
				}
				if s := f.door.Stats(); s.Failures != 0 || s.Faults > 2 {
					t.Errorf("%d failures, %d faults: %s", s.Failures, s.Faults, f.log)
				}
				f.want(f.publish(f.client(), hostedBy(t, 2, "third", time.Now())), policy.Wait)
			})
		})
	}
}

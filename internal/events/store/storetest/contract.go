// Package storetest holds what every event store must do, as tests that any implementation can run, and Model, an
// implementation so naive that it can be trusted: the two are compared on random histories. It is for tests only.
package storetest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Store is what package store promises. The methods are those of store.Store.
type Store interface {
	Begin() (Batch, error)
	View() View
	Since(after store.Seq, max int) ([]store.Entry, <-chan struct{}, error)
	Head() store.Seq
	Stats() store.Stats
	Close() error
}

// Batch is the open batch. The methods are those of store.Batch.
type Batch interface {
	Announcements(d string) ([]*nostr.Event, error)
	Has(id nostr.ID) (bool, error)
	HasBy(id nostr.ID, author nostr.PubKey) (bool, error)
	HasAddress(address string) (bool, error)
	At(address string) (*nostr.Event, bool, error)
	Get(id nostr.ID) (*nostr.Event, bool, error)
	Named(id nostr.ID, address string) (bool, error)
	HasAuthor(pk nostr.PubKey) (bool, error)
	TakesPart(pk nostr.PubKey) (bool, error)
	Add(e *nostr.Event, src store.Source) (policy.Outcome, error)
	Outcome(e *nostr.Event) (policy.Outcome, error)
	Remember(e *nostr.Event, why policy.Outcome) error
	Remove(id nostr.ID, why store.Reason) error
	ForgetOrphans(e *nostr.Event, max int) (int, bool, error)
	LostRepositories() []string
	Gone() []*nostr.Event
	Row(name string) ([]byte, error)
	SetRow(name string, value []byte) error
	ForgetRepository(d string, max int) (int, bool, error)
	ForgetLapsed(of nip34.Address, max int) (int, error)
	Purge(max int) (bool, error)
	ExpireDue(now time.Time, max int, skip func(nostr.ID) bool) (time.Time, int, error)
	AgeDue(now time.Time, max int) (time.Time, int, error)
	SweepMarks(now time.Time, max int) (bool, error)
	Wait(e *nostr.Event, w store.Wait) (policy.Outcome, error)
	Postpone(id nostr.ID, until int64) error
	EndWait(id nostr.ID, why policy.Outcome) error
	LapseDue(now time.Time, max int, skip func(nostr.ID) bool, keep func(*nostr.Event) bool) (time.Time, int, error)
	Waiting(id nostr.ID) (store.Waiting, error)
	WaitingAt(address string) (nostr.Stamp, bool, error)
	WaitingAnnouncements(d string) ([]*nostr.Event, error)
	EachWaitOf(author nostr.PubKey, do func(store.Waiting) error) error
	WaitTally(author nostr.PubKey, from string) store.WaitTally
	OldestWait(of store.WaitGroup, author nostr.PubKey, from string) (store.Waiting, bool, error)
	Known(id nostr.ID) (store.Knowledge, error)
	SetRules(fingerprint string, forget bool) error
	Len() int
	Commit() (store.Seq, error)
	Discard()
}

// View is one durable state. The methods are those of store.View.
type View interface {
	Head() store.Seq
	Query(ctx context.Context, f nostr.Filter) iter.Seq2[store.Row, error]
	Pairs(ctx context.Context, f nostr.Filter, flagged bool) iter.Seq2[store.Pair, error]
	Count(ctx context.Context, filters []nostr.Filter) (int, error)
	About(ctx context.Context, ids []nostr.ID, addresses []string) iter.Seq2[store.Row, error]
	Get(id nostr.ID) (*nostr.Event, bool, error)
	At(address string) (*nostr.Event, bool, error)
	WaitingAt(address string) (nostr.Stamp, bool, error)
	Known(id nostr.ID) (store.Knowledge, error)
	Purging() (bool, error)
	Waiting(id nostr.ID) (store.Waiting, error)
	EachWait(do func(store.Waiting) error) error
	Row(name string) ([]byte, error)
	EachRow(prefix, after string, do func(name string, value []byte) (more bool, err error)) error
	Close()
}

// Disk is where a store keeps its data.
type Disk interface {
	// Open opens the store on this disk; after Close it may be opened again and shows the same data. The implementation
	// sets Dir and FS.
	Open(t testing.TB, o store.Options) Store
	// Fresh is another disk, empty.
	Fresh(t testing.TB) Disk
}

// Of makes a *store.Store a Store.
func Of(s *store.Store) Store { return wrapped{s} }

type wrapped struct{ *store.Store }

// Begin opens the batch.
func (w wrapped) Begin() (Batch, error) {
	b, err := w.Store.Begin()
	if err != nil {
		return nil, err // not a nil *store.Batch in an interface
	}
	return b, nil
}

// View is the durable state of now.
func (w wrapped) View() View { return w.Store.View() }

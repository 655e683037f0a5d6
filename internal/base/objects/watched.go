package objects

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/histogram"
)

// Kinds are the kinds of requests, in the order of Stats.By.
var Kinds = [...]string{"put", "get", "head", "list", "delete"}

// The places of the kinds.
const (
	puts = iota
	gets
	heads
	lists
	deletes
)

// Watched is a store that knows how it fares. Any number of goroutines may use it.
type Watched struct {
	store Store

	mu    sync.Mutex
	stats Stats
}

// Stats says how a store fares.
type Stats struct {
	Since time.Time // of the first failure after the last answer; zero while the store answers
	Last  error     // the last failure since then

	By [len(Kinds)]Requests // all requests, by kind
}

// Requests counts what a store was asked.
type Requests struct {
	Took   histogram.Counts
	Failed uint64 // requests that were refused or not answered; no failure is what is not there, and what its caller has given up
}

// Watch returns a store that hands everything on.
func Watch(s Store) *Watched { return &Watched{store: s} }

// Stats says how the store fares now.
func (w *Watched) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// note notes a request, when it was made, and its error. One that its caller has given up says nothing of the store.
func (w *Watched) note(kind int, begun time.Time, err error) {
	took := time.Since(begun)
	w.mu.Lock()
	defer w.mu.Unlock()
	of := &w.stats.By[kind]
	of.Took.Add(took)
	switch {
	case err == nil, errors.Is(err, ErrNone):
		w.stats.Since, w.stats.Last = time.Time{}, nil
	case errors.Is(err, context.Canceled):
	default:
		of.Failed++
		w.stats.Last = err
		if w.stats.Since.IsZero() {
			w.stats.Since = time.Now()
		}
	}
}

// Put implements Store.
func (w *Watched) Put(ctx context.Context, name string, body Body) (Outcome, error) {
	begun := time.Now()
	o, err := w.store.Put(ctx, name, body)
	w.note(puts, begun, err)
	return o, err
}

// Get implements Store.
func (w *Watched) Get(ctx context.Context, name string, from int64, n int) ([]byte, error) {
	begun := time.Now()
	b, err := w.store.Get(ctx, name, from, n)
	w.note(gets, begun, err)
	return b, err
}

// Head implements Store.
func (w *Watched) Head(ctx context.Context, name string) (Info, error) {
	begun := time.Now()
	i, err := w.store.Head(ctx, name)
	w.note(heads, begun, err)
	return i, err
}

// List implements Store.
func (w *Watched) List(ctx context.Context, prefix, after string, most int) ([]Info, error) {
	begun := time.Now()
	page, err := w.store.List(ctx, prefix, after, most)
	w.note(lists, begun, err)
	return page, err
}

// Delete implements Store.
func (w *Watched) Delete(ctx context.Context, name string) error {
	begun := time.Now()
	err := w.store.Delete(ctx, name)
	w.note(deletes, begun, err)
	return err
}

package objects

import (
	"context"
	"errors"
	"sync"
	"time"
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
}

// Watch returns a store that hands everything on.
func Watch(s Store) *Watched { return &Watched{store: s} }

// Stats says how the store fares now.
func (w *Watched) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// note notes a request and its error. One that its caller has given up says nothing.
func (w *Watched) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, ErrNone):
		w.stats.Since, w.stats.Last = time.Time{}, nil
	case errors.Is(err, context.Canceled):
	default:
		w.stats.Last = err
		if w.stats.Since.IsZero() {
			w.stats.Since = time.Now()
		}
	}
}

// Put implements Store.
func (w *Watched) Put(ctx context.Context, name string, body Body) (Outcome, error) {
	o, err := w.store.Put(ctx, name, body)
	w.note(err)
	return o, err
}

// Get implements Store.
func (w *Watched) Get(ctx context.Context, name string, from int64, n int) ([]byte, error) {
	b, err := w.store.Get(ctx, name, from, n)
	w.note(err)
	return b, err
}

// Head implements Store.
func (w *Watched) Head(ctx context.Context, name string) (Info, error) {
	i, err := w.store.Head(ctx, name)
	w.note(err)
	return i, err
}

// List implements Store.
func (w *Watched) List(ctx context.Context, prefix, after string, most int) ([]Info, error) {
	page, err := w.store.List(ctx, prefix, after, most)
	w.note(err)
	return page, err
}

// Delete implements Store.
func (w *Watched) Delete(ctx context.Context, name string) error {
	err := w.store.Delete(ctx, name)
	w.note(err)
	return err
}

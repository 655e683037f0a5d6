package relaysync

import (
	"context"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/events/store"
)

// feedChunk is how many entries of the feed Run reads at once. In between it sees to everything else.
const feedChunk = 1000

// follow applies the feed until ctx ends. When the changes of a window are gathered, it gives every relay concerned its new Want. A revision
// may be delayed longer, because its owner edits often; that makes no other change wait. delayed fires when such a revision is due.
func (e *Engine) follow(ctx context.Context, delayed <-chan time.Time) error {
	check := time.NewTicker(e.cfg.CheckEvery)
	defer check.Stop()
	keep := time.NewTicker(e.cfg.KeepEvery)
	defer keep.Stop()
	close(e.following)
	window := time.NewTimer(time.Hour)
	defer window.Stop()
	calm := false
	for {
		changed, err := e.read()
		if err != nil {
			return err
		}
		if calm && changed != closed { // Run has read the feed to its end, with all that the relay brought
			if calm = false; e.window.answered(e.cfg.Now().Mono) {
				delayed = e.deliver(ctx)
			}
		}
		if at, open := e.window.due(); open {
			window.Reset(max(0, at-e.cfg.Now().Mono))
		} else {
			window.Stop()
		}
		select {
		case <-changed:
		case <-e.calm:
			calm = true
		case <-window.C:
			delayed = e.deliver(ctx)
		case <-delayed:
			delayed = e.deliver(ctx)
		case <-check.C:
			e.check(ctx)
		case <-keep.C:
			e.keep(ctx)
		case ask := <-e.asks:
			ask <- e.sorted()
		case r := <-e.retries:
			r.done <- e.retryNow(ctx, r.url)
		case l := <-e.lists:
			delayed = e.list(ctx, l)
		case <-ctx.Done():
			return nil
		}
	}
}

// read applies the next entries of the feed. It returns a channel that is closed when there are more.
func (e *Engine) read() (changed <-chan struct{}, err error) {
	entries, changed, err := e.cfg.Store.Since(e.cursor, e.chunk)
	if err != nil {
		return nil, fmt.Errorf("read feed: %w", err)
	}
	if len(entries) == 0 {
		return changed, nil
	}
	e.apply(entries)
	e.window.changed(e.cfg.Now().Mono)
	return closed, nil
}

// closed is a channel that is closed.
var closed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// apply folds entries of the feed.
func (e *Engine) apply(entries []store.Entry) {
	for _, x := range entries {
		e.cursor = max(e.cursor, x.Seq)
		switch {
		case x.Event != nil:
			e.fold(x.Event)
		case x.Waits != nil:
			e.desired.Await(x.Waits)
		default:
			e.unfold(x.Removed)
		}
	}
}

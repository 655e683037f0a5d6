package relaysync

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/peer"
)

// ErrNotWanted says that no repository names a relay, and that it is no bootstrap relay.
var ErrNotWanted = errors.New("nothing is wanted of this relay")

// ErrNoSlot says that all slots are in use, or that the relay's host has as many as it may have.
var ErrNoSlot = errors.New("no connection is free for this relay or its host (--sync-max-relays)")

// ErrNotRunning says that the engine does not follow the feed, or did not answer before ctx ended.
var ErrNotRunning = errors.New("the sync engine does not answer")

// retry brings a call of Retry to Run.
type retry struct {
	url  grasp.RelayURL
	done chan error
}

// Retry makes the engine connect to a relay at once, whatever its backoff, even to a dead one. For a connected relay it does nothing. The
// errors are ErrNotWanted, ErrNoSlot and ErrNotRunning.
func (e *Engine) Retry(ctx context.Context, u grasp.RelayURL) error {
	r := retry{u, make(chan error, 1)}
	select {
	case <-e.following:
	default:
		return ErrNotRunning
	}
	select {
	case e.retries <- r:
		return <-r.done
	case <-e.over:
	case <-ctx.Done():
	}
	return ErrNotRunning
}

// retryNow does the work of Retry in Run's goroutine. For a relay without a peer, it notes in the record that the relay is due, and assigns
// slots anew.
func (e *Engine) retryNow(ctx context.Context, u grasp.RelayURL) error {
	if p := e.peers[u]; p != nil {
		if !p.call(ctx, func(ctx context.Context) { p.step(ctx, peer.Retry{}) }) {
			return ErrNotRunning
		}
		return nil
	}
	switch w := e.wants[u]; {
	case w == nil:
		return ErrNotWanted
	case w.OnlyMailbox():
		e.records.put(u, e.records.past(u).VisitNow())
	default:
		e.records.put(u, e.records.past(u).Retried())
	}
	e.assignSlots(ctx, true)
	if e.peers[u] == nil {
		return ErrNoSlot
	}
	return nil
}

// Details asks every peer for its details. That is costly: the work grows with all that is wanted. It returns the answers that came before
// ctx ended.
func (e *Engine) Details(ctx context.Context) map[grasp.RelayURL]status.Details {
	out := make(map[grasp.RelayURL]status.Details)
	for _, p := range e.ask(ctx) {
		var d status.Details
		if p.call(ctx, func(context.Context) { d = p.machine.Details() }) {
			out[p.url] = d
		}
	}
	return out
}

package ingest

import (
	"context"

	"github.com/graspd/graspd/internal/ledger"
	"github.com/graspd/graspd/internal/nostr"
)

// Turn is a batch of its own, in the hands of somebody who has the writer's turn.
type Turn struct {
	ledger.Turn
	w *writer
}

// Serve lets events be served that wait, in that order.
func (t *Turn) Serve(ids []nostr.ID) error {
	for _, id := range ids {
		if err := t.w.serve(id); err != nil {
			return err
		}
	}
	return nil
}

// visit is somebody's work on its way to the writer.
type visit struct {
	work func(*Turn) error
	done chan error // one slot
}

// Turn lets work use a batch of its own, in the writer's goroutine and between the events. When it returns nil what the work did is
// durable. After an error nothing of it has happened: the work's own, the store's, ctx's cause, or ErrStopped. The work is to be
// short, as everybody waits for it. Run must be running.
func (d *Door) Turn(ctx context.Context, work func(*Turn) error) error {
	v := visit{work, make(chan error, 1)}
	select {
	case d.visits <- v:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.stop:
		return ErrStopped
	}
	d.nudge()
	select { // on its way it cannot be taken back
	case err := <-v.done:
		return err
	case <-d.stop: // the writer has seen to it, or never will
		select {
		case err := <-v.done:
			return err
		default:
			return ErrStopped
		}
	}
}

// receive lets a visitor work, if there is one. What was decided before is committed first.
func (w *writer) receive() {
	select {
	case v := <-w.door.visits:
		if !w.round.idle() {
			w.commit()
		}
		v.done <- w.give(v.work)
	default:
	}
}

// give is one visitor's turn.
func (w *writer) give(work func(*Turn) error) error {
	if err := w.open(); err != nil {
		w.abort(err)
		return err
	}
	if err := work(&Turn{w.turn(), w}); err != nil {
		w.drop(err)
		return err
	}
	return w.commit()
}

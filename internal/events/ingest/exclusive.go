package ingest

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Exclusive is a batch in which somebody else's work runs in the writer's goroutine. It is valid until the work returns.
type Exclusive struct {
	refdb.Turn
	w *writer
}

// Serve makes waiting events served ones, in the order of ids. Where it fails over an event, the writer does the work anew, and Serve leaves
// that event waiting.
func (t *Exclusive) Serve(ids []nostr.ID) error {
	for _, id := range ids {
		if err := t.w.release(id); err != nil {
			return err
		}
	}
	return nil
}

// exclusiveRequest is somebody's work on its way to the writer.
type exclusiveRequest struct {
	work func(*Exclusive) error
	done chan error // one slot
}

// Exclusively makes the writer call work between events, in the writer's goroutine and with its own batch. When Exclusively returns nil,
// all that work did is durable. After an error nothing of it has happened; the error is the work's, the store's, ctx's cause, or ErrStopped.
// Everybody waits for work, so it must be short and must not wait for the door. Work that returns a refdb.Fault is called again, without the
// event over which that is. Run must be running.
func (d *Door) Exclusively(ctx context.Context, work func(*Exclusive) error) error {
	return d.hold(ctx, d.exclusiveRequests, work)
}

// AtLength is Exclusively for work that may take many milliseconds: such work and shorter work take turns, so that who has little to do waits for
// one that has much, however many there are.
func (d *Door) AtLength(ctx context.Context, work func(*Exclusive) error) error {
	return d.hold(ctx, d.longRequests, work)
}

func (d *Door) hold(ctx context.Context, requests chan<- exclusiveRequest, work func(*Exclusive) error) error {
	v := exclusiveRequest{work, make(chan error, 1)}
	select {
	case requests <- v:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.stop:
		return ErrStopped
	}
	d.nudge()
	select { // not for ctx: the writer may have taken the work already
	case err := <-v.done:
		return err
	case <-d.stop: // the writer has done the work already, or never will
		select {
		case err := <-v.done:
			return err
		default:
			return ErrStopped
		}
	}
}

// receiveExclusive does one piece of exclusive work, and one that takes long, if somebody asked for them. It first commits what was decided before.
func (w *writer) receiveExclusive() {
	for _, requests := range [...]chan exclusiveRequest{w.door.exclusiveRequests, w.door.longRequests} {
		select {
		case v := <-requests:
			if !w.open.idle() {
				w.commit()
			}
			v.done <- w.giveExclusive(v.work)
		default:
		}
	}
}

// giveExclusive does the work in a batch of its own, and commits the batch.
func (w *writer) giveExclusive(work func(*Exclusive) error) error {
	for times := 1; ; times++ {
		if err := w.begin(); err != nil {
			w.abort(err)
			return err
		}
		err := work(&Exclusive{w.turn(), w})
		if err == nil {
			return w.commit()
		}
		w.drop(err)
		f, ok := errors.AsType[*refdb.Fault](err)
		if !ok || w.everybodys(err) || times == timesAnew {
			return err
		}
		w.leaveOut(f.Event, f.Err)
	}
}

package ingest

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/base/fair"
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
	work  func(*Exclusive) error
	done  chan error // one slot
	taken bool       // the writer has it; guarded by Door.mu
	left  bool       // nobody waits for it any more; guarded by Door.mu
}

// exclusiveQueue has the work that waits. Parties have turns: who wants the writer for much keeps nobody waiting who wants it once.
type exclusiveQueue = fair.Turns[string, *exclusiveRequest]

// Exclusively makes the writer call work between events, in the writer's goroutine and with its own batch. The work is that of a party: a network
// of clients, or an owner; "" is graspd itself. When Exclusively returns nil, all that work did is durable. After an error nothing of it has
// happened; the error is the work's, the store's, ctx's cause, or ErrStopped. Everybody waits for work, so it must be short and must not wait for
// the door. Work that returns a refdb.Fault is called again, without the event over which that is. Run must be running.
func (d *Door) Exclusively(ctx context.Context, party string, work func(*Exclusive) error) error {
	return d.hold(ctx, &d.exclusive, party, work)
}

// AtLength is Exclusively for work that may take many milliseconds: such work and shorter work take turns, so that who has little to do waits for
// one that has much, however many there are.
func (d *Door) AtLength(ctx context.Context, party string, work func(*Exclusive) error) error {
	return d.hold(ctx, &d.atLength, party, work)
}

func (d *Door) hold(ctx context.Context, q *exclusiveQueue, party string, work func(*Exclusive) error) error {
	v := &exclusiveRequest{work: work, done: make(chan error, 1)}
	if err := d.request(ctx, q, party, v); err != nil {
		return err
	}
	select {
	case err := <-v.done:
		return err
	case <-d.stop:
	case <-ctx.Done():
		if d.withdraw(v) {
			return context.Cause(ctx)
		}
	}
	select {
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

func (d *Door) request(ctx context.Context, q *exclusiveQueue, party string, v *exclusiveRequest) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q.Push(party, v)
	d.nudge()
	return nil
}

// withdraw takes work back that the writer does not have yet, and reports whether it did.
func (d *Door) withdraw(v *exclusiveRequest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	v.left = !v.taken
	return v.left
}

// takeExclusive returns the work whose turn it is; nil where none waits. more says that some waits behind it.
func (d *Door) takeExclusive(q *exclusiveQueue) (v *exclusiveRequest, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for v = q.Pop(); v != nil && v.left; v = q.Pop() {
	}
	if v != nil {
		v.taken = true
	}
	return v, len(q.Parties()) > 0
}

// receiveExclusive does one piece of exclusive work, and one that takes long, if somebody asked for them. It first commits what was decided before.
func (w *writer) receiveExclusive() {
	for _, q := range [...]*exclusiveQueue{&w.door.exclusive, &w.door.atLength} {
		v, more := w.door.takeExclusive(q)
		if more {
			w.door.nudge()
		}
		if v == nil {
			continue
		}
		if !w.open.idle() {
			w.commit()
		}
		v.done <- w.giveExclusive(v.work)
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

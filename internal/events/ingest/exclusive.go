package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Exclusive is the open batch in the hands of somebody else's work, which runs in the writer's goroutine. It is valid until the work returns.
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
	of    *exclusiveQueue
	party string
	work  func(*Exclusive) error
	done  chan error // one slot
	taken bool       // the writer has it, and will answer; guarded by Door.mu
	left  bool       // nobody waits for it any more; guarded by Door.mu

	// The writer's.
	times  int   // how often it was done in vain
	failed error // it is not done again
}

// exclusiveQueue has the work that waits. Parties have turns: who wants the writer for much keeps nobody waiting who wants it once.
type exclusiveQueue = fair.Turns[string, *exclusiveRequest]

// Exclusively makes the writer call work between events, in the writer's goroutine and with the open batch: work shares its commit with the events and
// the work before and after it. The work is that of a party: a network of clients, or an owner; "" is graspd itself. When Exclusively returns nil, all
// that work did is durable, and so is all that it saw. After an error nothing of it has happened; the error is the work's, the store's, ctx's cause, or
// ErrStopped. Everybody waits for work, so it must be short and must not wait for the door. Run must be running.
//
// The writer calls work again where it drops the batch because of anything else in it, and where work returns a refdb.Fault: then without the event
// over which that is. So each call of work sets anew whatever it tells its caller, and what it does outside of the batch must bear being there already.
func (d *Door) Exclusively(ctx context.Context, party string, work func(*Exclusive) error) error {
	return d.hold(ctx, &d.exclusive, party, work)
}

// AtLength is Exclusively for work that may take many milliseconds: such work and shorter work take turns, so that who has little to do waits for
// one that has much, however many there are.
func (d *Door) AtLength(ctx context.Context, party string, work func(*Exclusive) error) error {
	return d.hold(ctx, &d.atLength, party, work)
}

func (d *Door) hold(ctx context.Context, q *exclusiveQueue, party string, work func(*Exclusive) error) error {
	v := &exclusiveRequest{of: q, party: party, work: work, done: make(chan error, 1)}
	if err := d.request(ctx, v); err != nil {
		return err
	}
	select {
	case err := <-v.done:
		return err
	case <-d.stop:
		if d.withdraw(v) {
			return ErrStopped
		}
	case <-ctx.Done():
		if d.withdraw(v) {
			return context.Cause(ctx)
		}
	}
	return <-v.done
}

func (d *Door) request(ctx context.Context, v *exclusiveRequest) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	v.of.Push(v.party, v)
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

// takeExclusive returns the work whose turn it is; nil where none waits.
func (d *Door) takeExclusive(q *exclusiveQueue) (v *exclusiveRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for v = q.Pop(); v != nil && v.left; v = q.Pop() {
	}
	if v != nil {
		v.taken = true
	}
	return v
}

// workWaits reports whether exclusive work waits for the writer.
func (d *Door) workWaits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.exclusive.Parties())+len(d.atLength.Parties()) > 0
}

// receiveExclusive does one piece of exclusive work, and one that takes long, if somebody asked for them. For work that takes long nobody waits who is
// in the batch already.
func (w *writer) receiveExclusive() {
	for _, q := range [...]*exclusiveQueue{&w.door.exclusive, &w.door.atLength} {
		v := w.door.takeExclusive(q)
		if v == nil {
			continue
		}
		if w.full() || w.open.over() || q == &w.door.atLength && w.open.direct {
			w.commit()
		}
		w.join(v)
	}
}

// join does exclusive work in the open batch, and answers with the commit: at once where the batch has nothing to commit. Where work fails that has
// left something, everything else in the batch is decided anew.
func (w *writer) join(v *exclusiveRequest) {
	if err := w.conclude(); err != nil { // work sees everything as after a commit
		w.batchFailed(err)
	}
	for {
		if err := w.begin(); err != nil {
			w.abort(err)
			v.done <- err
			return
		}
		before, began := w.open.mark(w.ledger), time.Now()
		err := v.work(&Exclusive{w.turn(), w})
		w.door.worked(v, time.Since(began))
		if err == nil {
			w.queue(answer{decision: decision{work: v}})
			if w.open.batch.Len() == 0 {
				w.commit()
			}
			return
		}
		if failed := w.door.store.Failure(); failed != nil {
			w.abort(failed)
			v.done <- err
			return
		}
		w.workFailed(v, err)
		if w.open.mark(w.ledger) != before {
			w.queue(answer{decision: decision{work: v}})
			w.decideAnew()
			return
		}
		if v.failed != nil {
			v.done <- err
			return
		}
	}
}

// workFailed leaves out the event over which work has failed, or the work.
func (w *writer) workFailed(v *exclusiveRequest, err error) {
	v.times++
	if f, ok := errors.AsType[*refdb.Fault](err); ok && v.times < timesAnew && !w.everybodys(err) {
		w.leaveOut(f.Event, f.Err)
		return
	}
	v.failed = err
}

// mark says how much was done in the open batch.
type mark struct{ steps, notes int }

func (r *openBatch) mark(l *refdb.Ledger) mark {
	m := mark{steps: r.batch.Steps()}
	if l != nil {
		m.notes = l.Noted()
	}
	return m
}

package moderator

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	atOnce     = 64          // events in one turn of the writer
	dropAtOnce = 500         // events in one turn that only forgets
	lookEvery  = time.Minute // for events that were kept for long enough, and for work that has failed
)

// errAgain says that somebody has changed a case meanwhile.
var errAgain = errors.New("the case was changed meanwhile")

// Run carries out decisions until ctx ends. It begins with what an earlier run has left.
func (m *Moderator) Run(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for ctx.Err() == nil {
		if more := m.work(ctx); more {
			continue
		}
		select {
		case <-m.wake:
		case <-look.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// work does what is due, case by case, and reports whether a decision has changed a case meanwhile.
func (m *Moderator) work(ctx context.Context) (more bool) {
	m.report(ctx, "lists", m.followLists(ctx))
	now := m.cfg.Now().Unix()
	for _, x := range m.Cases() {
		var err error
		switch {
		case x.State == moderation.Clearing:
			err = m.clear(ctx, x)
		case x.State == moderation.Returning:
			err = m.putBack(ctx, x)
		case x.Holds() && x.Keep <= now:
			err = m.forget(ctx, x)
		default:
			continue
		}
		more = more || errors.Is(err, errAgain)
		m.report(ctx, x.Subject.String(), err)
		m.step()
	}
	return more
}

func (m *Moderator) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, ingest.ErrStopped) && !errors.Is(err, errAgain) {
		m.cfg.Logger.Error("a decision of the operator could not be carried out yet", "subject", what, "error", err)
	}
}

// set changes a case in a turn of the writer, and x with it. It fails with errAgain where the case is in another state by now. A case that
// change leaves without a state is over, and set drops it.
func (m *Moderator) set(ctx context.Context, x *moderation.Case, change func(*ingest.Exclusive, *moderation.Case) error) error {
	m.deciding.Lock()
	defer m.deciding.Unlock()
	before, ok := m.Case(x.N)
	if !ok || before.State != x.State {
		return errAgain
	}
	var now moderation.Case
	err := m.cfg.Door.Exclusively(ctx, "", func(t *ingest.Exclusive) error {
		now = before.Clone() // the door may do the work more than once
		if err := change(t, &now); err != nil {
			return err
		}
		if now.State == "" {
			return t.SetRow(rowName(casePrefix, x.N), nil)
		}
		return t.SetRow(rowName(casePrefix, x.N), moderation.Encode(now))
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	own := now.Clone()
	if m.decided.put(&own); now.State == "" {
		delete(m.decided.cases, x.N)
	}
	*x = now
	return nil
}

// clear puts aside the events of a subject and those that name it, then those that name these, as long as something goes. It looks for what
// names an event only when that event has gone: from then on the door takes no more of these.
func (m *Moderator) clear(ctx context.Context, x moderation.Case) error {
	queue, err := m.begin(ctx, x)
	if err != nil {
		return err
	}
	if x.Subject.Sort == moderation.Author {
		if err := m.set(ctx, &x, func(t *ingest.Exclusive, _ *moderation.Case) error { return t.EndWaitsOf(x.Subject.PubKey) }); err != nil {
			return err
		}
	}
	for len(queue) > 0 {
		some := queue[:min(len(queue), atOnce)]
		queue = queue[len(some):]
		var gone []*nostr.Event
		err := m.set(ctx, &x, func(t *ingest.Exclusive, c *moderation.Case) (err error) {
			gone, err = putAside(t, c, some)
			return err
		})
		if err != nil {
			return err
		}
		more, err := m.following(ctx, gone)
		if err != nil {
			return err
		}
		queue = append(queue, more...)
	}
	return m.cleared(ctx, x)
}

// putAside puts aside those of the events that go with the subject, in a turn of the writer, and returns what went.
func putAside(t *ingest.Exclusive, c *moderation.Case, ids []nostr.ID) (gone []*nostr.Event, err error) {
	for _, id := range ids {
		e, ok, err := t.Get(id)
		if err == nil && ok {
			ok, err = moderation.GoesAlong(c.Subject, e, t)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		put, err := t.PutAside(id, c.N)
		if err != nil {
			return nil, err
		}
		for _, p := range put {
			c.Count(p, 1)
			gone = append(gone, p)
		}
	}
	return gone, nil
}

// begin returns the events to begin with: those of roots, and those that name what was put aside before a restart.
func (m *Moderator) begin(ctx context.Context, x moderation.Case) ([]nostr.ID, error) {
	v := m.cfg.Store.View()
	defer v.Close()
	queue, err := roots(ctx, v, x.Subject)
	for after := store.Seq(0); err == nil; {
		var list []store.Entry
		if list, err = v.Aside(x.N, after, atOnce); err != nil || len(list) == 0 {
			break
		}
		after = list[len(list)-1].Seq
		var gone []*nostr.Event
		for _, e := range list {
			gone = append(gone, e.Event)
		}
		var more []nostr.ID
		more, err = following(ctx, v, gone)
		queue = append(queue, more...)
	}
	return queue, err
}

func (m *Moderator) following(ctx context.Context, gone []*nostr.Event) ([]nostr.ID, error) {
	v := m.cfg.Store.View()
	defer v.Close()
	return following(ctx, v, gone)
}

// cleared writes into the case, and into its entry of the journal, what was put aside.
func (m *Moderator) cleared(ctx context.Context, x moderation.Case) error {
	err := m.set(ctx, &x, func(t *ingest.Exclusive, c *moderation.Case) error {
		c.State = moderation.Aside
		return setEntry(t, moderation.Entry{
			N: c.N, At: c.Since, By: c.By, Did: moderation.Deleted, Subject: c.Subject.String(), Title: c.Title, Why: c.Why, Case: c.N,
			Events: c.Events, Bytes: c.Bytes, Repositories: c.Repositories,
		})
	})
	if err == nil {
		m.cfg.Logger.Info("taken away by the operator", "subject", x.Subject.String(), "count", x.Total(), "case", x.N)
	}
	return err
}

// putBack stores the events that a case keeps aside again, in the order in which they were stored once. It goes over them again as long as
// a round settles one.
func (m *Moderator) putBack(ctx context.Context, x moderation.Case) error {
	for again := true; again; {
		again = false
		for after := store.Seq(0); ; {
			list, err := m.aside(x.N, after, atOnce)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			after = list[len(list)-1].Seq
			err = m.set(ctx, &x, func(t *ingest.Exclusive, c *moderation.Case) error {
				settled, err := returnSome(t, c, list)
				again = again || settled
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	left := x.Total()
	err := m.set(ctx, &x, func(_ *ingest.Exclusive, c *moderation.Case) error {
		if c.State = ""; left > 0 {
			c.State = moderation.Left
		}
		return nil
	})
	if err == nil {
		m.cfg.Logger.Info("put back by the operator", "subject", x.Subject.String(), "left", left, "case", x.N)
	}
	return err
}

func (m *Moderator) aside(n uint64, after store.Seq, most int) ([]store.Entry, error) {
	v := m.cfg.Store.View()
	defer v.Close()
	return v.Aside(n, after, most)
}

// returnSome stores those of the events again that today's rules allow, in a turn of the writer. It drops these, and those that will never be
// stored, from what the case keeps aside, and reports whether there was any.
func returnSome(t *ingest.Exclusive, c *moderation.Case, list []store.Entry) (any bool, err error) {
	for _, e := range list {
		settled, err := t.Return(e)
		if err != nil {
			return any, err
		}
		if !settled {
			continue
		}
		any = true
		c.Count(e.Event, -1)
		if err := t.DropAside(c.N, e.Seq); err != nil {
			return any, err
		}
	}
	return any, nil
}

// forget drops the events that a case has kept for long enough. Its subject stays barred.
func (m *Moderator) forget(ctx context.Context, x moderation.Case) error {
	for {
		list, err := m.aside(x.N, 0, dropAtOnce)
		if err != nil {
			return err
		}
		err = m.set(ctx, &x, func(t *ingest.Exclusive, c *moderation.Case) error {
			for _, e := range list {
				if err := t.DropAside(c.N, e.Seq); err != nil {
					return err
				}
			}
			if len(list) == 0 {
				if c.State == moderation.Aside {
					c.State = moderation.Forgotten
				} else {
					c.State = ""
				}
			}
			return nil
		})
		if err != nil || len(list) == 0 {
			return err
		}
	}
}

// followLists opens a case for each subject that the lists of the settings deny and of which something is here. It lifts the cases of
// subjects that the lists deny no more.
func (m *Moderator) followLists(ctx context.Context) error {
	m.mu.Lock()
	lists, looked := m.rules.Lists, m.looked
	m.looked = true
	m.mu.Unlock()
	if looked {
		return nil
	}
	err := m.followThese(ctx, moderation.Denied(lists))
	if err != nil { // the next run tries again
		m.mu.Lock()
		m.looked = false
		m.mu.Unlock()
	}
	return err
}

func (m *Moderator) followThese(ctx context.Context, denied []moderation.Subject) error {
	is := make(map[moderation.Subject]bool, len(denied))
	for _, s := range denied {
		is[s] = true
	}
	for _, x := range m.Cases() {
		if x.List && x.Barred() && !is[x.Subject] {
			if err := m.takenOut(ctx, x.N); err != nil {
				return err
			}
		}
	}
	for _, s := range denied {
		if _, ok := m.of(s); ok {
			continue
		}
		if err := m.putIn(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

const byLists = "the lists of the settings"

// takenOut lifts the case of a subject that no list denies any more.
func (m *Moderator) takenOut(ctx context.Context, n uint64) error {
	m.deciding.Lock()
	defer m.deciding.Unlock()
	x, ok := m.Case(n)
	if !ok || !x.List || !x.Barred() || m.denies(x.Subject) {
		return nil
	}
	_, err := m.liftCase(ctx, x, byLists, "")
	return err
}

// putIn opens a case for a subject that a list denies, if something of it is here.
func (m *Moderator) putIn(ctx context.Context, s moderation.Subject) error {
	v := m.cfg.Store.View()
	any, err := anything(ctx, v, s)
	v.Close()
	if err != nil || !any {
		return err
	}
	m.deciding.Lock()
	defer m.deciding.Unlock()
	if !m.denies(s) {
		return nil
	}
	_, err = m.open(ctx, moderation.Order{Subject: s, By: byLists, Keep: moderation.Keep}, true)
	return err
}

package moderator

import (
	"context"
	"fmt"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/operate/moderation"
)

// Bar bars a subject: the relay takes nothing of it any more, and Run puts aside what is here of it. When Bar returns, the decision is
// durable and in force. A subject that is barred already keeps its case.
func (m *Moderator) Bar(ctx context.Context, o moderation.Order) (moderation.Case, error) {
	if err := o.Fit(); err != nil {
		return moderation.Case{}, err
	}
	m.deciding.Lock()
	defer m.deciding.Unlock()
	if x, ok := m.of(o.Subject); ok && !x.List {
		return x, m.enforce(ctx)
	}
	x, err := m.open(ctx, o, false)
	if err != nil {
		return x, err
	}
	if err := m.enforce(ctx); err != nil {
		return x, err
	}
	m.nudge()
	return x, nil
}

// enforce puts in force what is decided. Where that failed, whoever decides the same again has it in force then. The caller holds deciding.
func (m *Moderator) enforce(ctx context.Context) error {
	if err := m.apply(ctx); err != nil {
		return fmt.Errorf("it is decided, and in force from the next start on: %w", err)
	}
	return nil
}

// of returns the case that bars a subject.
func (m *Moderator) of(s moderation.Subject) (moderation.Case, bool) {
	m.mu.Lock()
	n, ok := m.decided.by[s]
	m.mu.Unlock()
	if !ok {
		return moderation.Case{}, false
	}
	return m.Case(n)
}

// open makes a case, or takes over the one that a list has opened for the subject. It fails with ErrMany beyond MaxCases. The caller holds
// deciding.
func (m *Moderator) open(ctx context.Context, o moderation.Order, list bool) (moderation.Case, error) {
	now := m.cfg.Now()
	x, taken := m.of(o.Subject)
	m.mu.Lock()
	n, many := m.decided.last+1, len(m.decided.cases) >= moderation.MaxCases
	m.mu.Unlock()
	if many {
		return x, ErrMany
	}
	e := moderation.Entry{N: n, At: now.Unix(), By: o.By, Did: moderation.Deleted, Subject: o.Subject.String(), Title: m.Title(o.Subject), Why: o.Why, Case: n}
	if taken {
		x.List, x.By, x.Why, x.Keep, e.Case = false, o.By, o.Why, now.Add(o.Keep).Unix(), x.N
	} else {
		x = moderation.Case{N: n, Subject: o.Subject, Title: e.Title, By: o.By, Why: o.Why, Since: now.Unix(), Keep: now.Add(o.Keep).Unix(), List: list, State: moderation.Clearing}
	}
	return x, m.write(ctx, e, &x, nil)
}

// write makes an entry of the journal and a case durable, and keeps them in m afterwards. In the same turn it calls also first. x and also
// may be nil.
func (m *Moderator) write(ctx context.Context, e moderation.Entry, x *moderation.Case, also func(*ingest.Exclusive) error) error {
	err := m.cfg.Door.Exclusively(ctx, "", func(t *ingest.Exclusive) error {
		if also != nil {
			if err := also(t); err != nil {
				return err
			}
		}
		if err := setEntry(t, e); err != nil || x == nil {
			return err
		}
		return t.SetRow(rowName(casePrefix, x.N), moderation.Encode(x))
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decided.last = max(m.decided.last, e.N)
	if x != nil {
		own := x.Clone()
		m.decided.put(&own)
	}
	return nil
}

// setEntry writes an entry, and drops the one that is beyond MaxEntries then.
func setEntry(t *ingest.Exclusive, e moderation.Entry) error {
	if err := t.SetRow(rowName(journalPrefix, e.N), moderation.Encode(e)); err != nil || e.N <= moderation.MaxEntries {
		return err
	}
	return t.SetRow(rowName(journalPrefix, e.N-moderation.MaxEntries), nil)
}

// Note writes a decision about anything else into the journal, and calls also, which may be nil, in the same turn of the writer. It fills in
// the number and the time, and cuts texts that are too long.
func (m *Moderator) Note(ctx context.Context, e moderation.Entry, also func(*ingest.Exclusive) error) error {
	m.deciding.Lock()
	defer m.deciding.Unlock()
	m.mu.Lock()
	e.N, e.At = m.decided.last+1, m.cfg.Now().Unix()
	m.mu.Unlock()
	e.By, _ = safetext.Cut(e.By, moderation.MaxBy)
	e.Why, _ = safetext.Cut(e.Why, moderation.MaxWhy)
	return m.write(ctx, e, nil, also)
}

// Bars reports whether a decision or a list of the settings bars a subject.
func (m *Moderator) Bars(s moderation.Subject) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.decided.by[s]
	return ok || deniedBy(m.rules.Lists, s)
}

// Lift takes a case back: the relay takes its subject again, and Run puts back what is kept aside. When Lift returns, that is durable and in
// force. It fails with ErrNoCase, and with ErrListed where a list of the settings denies the subject.
func (m *Moderator) Lift(ctx context.Context, n uint64, by, why string) (moderation.Case, error) {
	m.deciding.Lock()
	defer m.deciding.Unlock()
	x, ok := m.Case(n)
	switch {
	case !ok:
		return x, ErrNoCase
	case x.List, m.denies(x.Subject):
		return x, ErrListed
	}
	return m.liftCase(ctx, x, by, why)
}

// LiftSubject lifts the case that bars a subject, and reports whether there was one. It fails with ErrListed where only a list denies it.
func (m *Moderator) LiftSubject(ctx context.Context, s moderation.Subject, by, why string) (bool, error) {
	x, ok := m.of(s)
	if !ok {
		if m.denies(s) {
			return false, ErrListed
		}
		m.deciding.Lock()
		defer m.deciding.Unlock()
		return false, m.enforce(ctx)
	}
	_, err := m.Lift(ctx, x.N, by, why)
	return err == nil, err
}

// denies reports whether the lists of the settings deny a subject.
func (m *Moderator) denies(s moderation.Subject) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return deniedBy(m.rules.Lists, s)
}

func (m *Moderator) liftCase(ctx context.Context, x moderation.Case, by, why string) (moderation.Case, error) {
	m.mu.Lock()
	n := m.decided.last + 1
	m.mu.Unlock()
	x.State = moderation.Returning
	o := moderation.Order{Subject: x.Subject, By: by, Why: why}
	if err := o.Fit(); err != nil {
		return x, err
	}
	e := moderation.Entry{
		N: n, At: m.cfg.Now().Unix(), By: o.By, Did: moderation.Restored, Subject: x.Subject.String(), Title: x.Title, Why: o.Why, Case: x.N,
		Events: x.Events, Bytes: x.Bytes, Repositories: x.Repositories,
	}
	if err := m.write(ctx, e, &x, nil); err != nil {
		return x, err
	}
	if err := m.enforce(ctx); err != nil {
		return x, err
	}
	m.nudge()
	return x, nil
}

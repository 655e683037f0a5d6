// Package moderator carries out what the operator decides. It keeps the decisions beside the events, has the door take nothing of a barred
// subject, puts its events aside, keeps them for a while, and puts them back when the decision is taken back. A decision is durable before
// anything goes, so that a restart goes on with it. Read Decisions and Moderator, then work.
package moderator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Errors that callers tell apart.
var (
	ErrNoCase = errors.New("there is no such case")
	ErrListed = errors.New("a list of the settings denies it: take it out there and let graspd reread the lists")
	ErrMany   = fmt.Errorf("more than %d subjects are barred already: lift some first", moderation.MaxCases)
)

// Door is where decisions come into force, an *ingest.Door.
type Door interface {
	Exclusively(ctx context.Context, party string, do func(*ingest.Exclusive) error) error
	Rules() policy.Rules
	SetRules(ctx context.Context, rules policy.Rules) error
}

// Config says what a Moderator works with. Every field is needed.
type Config struct {
	Store   *store.Store
	Decided *Decisions // those of the store
	Door    Door
	Rules   policy.Rules // of the settings
	Now     func() time.Time
	Logger  *slog.Logger
}

// Moderator has the decisions of one relay. Any number of goroutines may use it.
type Moderator struct {
	cfg Config

	deciding sync.Mutex // held during a decision, so that numbers follow one another

	mu      sync.Mutex // guards the fields below; not held across I/O
	decided *Decisions
	rules   policy.Rules  // of the settings
	looked  bool          // followLists has done its work for them
	moved   chan struct{} // closes when a case has come further
	wake    chan struct{}
}

// New returns a Moderator. It carries out what is decided while Run runs.
func New(c Config) *Moderator {
	return &Moderator{cfg: c, decided: c.Decided, rules: c.Rules, moved: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// apply has the door decide by the rules of the settings and by what is decided. The caller holds deciding.
func (m *Moderator) apply(ctx context.Context) error {
	m.mu.Lock()
	rules := m.rules
	rules.Lists = m.decided.With(rules.Lists)
	m.mu.Unlock()
	if rules.Fingerprint() == m.cfg.Door.Rules().Fingerprint() {
		return nil
	}
	return m.cfg.Door.SetRules(ctx, rules)
}

// SetRules puts other rules of the settings in force. Where that fails the old ones stay.
func (m *Moderator) SetRules(ctx context.Context, rules policy.Rules) error {
	m.deciding.Lock()
	defer m.deciding.Unlock()
	m.mu.Lock()
	before := m.rules
	m.rules = rules
	m.mu.Unlock()
	if err := m.apply(ctx); err != nil {
		m.mu.Lock()
		m.rules = before
		m.mu.Unlock()
		return err
	}
	m.mu.Lock()
	m.looked = false
	m.mu.Unlock()
	m.nudge()
	return nil
}

// Cases returns all cases, the newest first.
func (m *Moderator) Cases() []moderation.Case {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]moderation.Case, 0, len(m.decided.cases))
	for _, x := range m.decided.cases {
		out = append(out, x.Clone())
	}
	slices.SortFunc(out, func(a, b moderation.Case) int { return cmp.Compare(b.N, a.N) })
	return out
}

// Case returns the case with a number.
func (m *Moderator) Case(n uint64) (moderation.Case, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.decided.cases[n]
	if x == nil {
		return moderation.Case{}, false
	}
	return x.Clone(), true
}

// KeepsData reports whether a case keeps the git data of a repository that has gone.
func (m *Moderator) KeepsData(a nip34.Address) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.decided.cases {
		if x.KeepsData(a) {
			return true
		}
	}
	return false
}

// Journal returns the last entries, at most so many, the newest first.
func (m *Moderator) Journal(most int) ([]moderation.Entry, error) {
	m.mu.Lock()
	after := ""
	if m.decided.last > uint64(most) {
		after = rowName(journalPrefix, m.decided.last-uint64(most))
	}
	m.mu.Unlock()
	var out []moderation.Entry
	v := m.cfg.Store.View()
	defer v.Close()
	err := v.EachRow(journalPrefix, after, func(_ string, row []byte) (bool, error) {
		x, err := moderation.Decode[moderation.Entry](row)
		out = append(out, x)
		return true, err
	})
	slices.Reverse(out)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return out[:min(len(out), most)], nil
}

func (m *Moderator) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// step tells those who wait in Await that a case has come further.
func (m *Moderator) step() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.moved)
	m.moved = make(chan struct{})
}

// Await waits until a case is neither Clearing nor Returning, or ctx ends, and returns it; a zero one where it is over.
func (m *Moderator) Await(ctx context.Context, n uint64) moderation.Case {
	for {
		m.mu.Lock()
		moved := m.moved
		m.mu.Unlock()
		x, ok := m.Case(n)
		if !ok || x.State != moderation.Clearing && x.State != moderation.Returning {
			return x
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return x
		}
	}
}

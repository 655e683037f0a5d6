// Package moderator carries out what the operator decides. It keeps the decisions beside the events, has the door take nothing of a barred
// subject, puts its events aside, keeps them for a while, and puts them back when the decision is taken back. A decision is durable before
// anything goes, so that a restart goes on with it. Read Moderator, then work.
package moderator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Errors that callers tell apart.
var (
	ErrNoCase = errors.New("there is no such case")
	ErrListed = errors.New("a list of the settings denies it: take it out there and let graspd reread the lists")
	ErrMany   = fmt.Errorf("more than %d subjects are barred already: lift some first", moderation.MaxCases)
)

// Names of rows.
const (
	casePrefix    = "case/"
	journalPrefix = "journal/"
)

func rowName(prefix string, n uint64) string { return fmt.Sprintf("%s%016x", prefix, n) }

// Config says what a Moderator works with.
type Config struct {
	Store  *store.Store
	Lists  policy.Lists // of the settings
	Now    func() time.Time
	Logger *slog.Logger
}

// Moderator has the decisions of one relay. Any number of goroutines may use it once it has its door.
type Moderator struct {
	cfg   Config
	door  *ingest.Door
	apply func(context.Context, policy.Lists) error

	deciding sync.Mutex // held during a decision, so that numbers follow one another

	mu      sync.Mutex // guards the fields below; not held across I/O
	cases   map[uint64]*moderation.Case
	by      map[moderation.Subject]uint64       // cases by the subjects that they bar
	allowed map[nostr.PubKey]moderation.Allowed // by decisions
	listed  policy.Lists                        // of the settings
	looked  bool                                // followLists has done its work for them
	last    uint64                              // number of the last entry of the journal
	moved   chan struct{}                       // closes when a case has come further
	wake    chan struct{}
}

// Open reads the decisions in a store.
func Open(c Config) (*Moderator, error) {
	m := &Moderator{cfg: c, cases: map[uint64]*moderation.Case{}, by: map[moderation.Subject]uint64{}, allowed: map[nostr.PubKey]moderation.Allowed{}, listed: c.Lists,
		moved: make(chan struct{}), wake: make(chan struct{}, 1)}
	v := c.Store.View()
	defer v.Close()
	err := v.EachRow(casePrefix, "", func(_ string, row []byte) (bool, error) {
		x, err := moderation.Decode[moderation.Case](row)
		if err == nil {
			m.put(&x)
		}
		return true, err
	})
	if err == nil {
		err = m.readAllowed(v)
	}
	if err == nil {
		err = v.EachRow(journalPrefix, "", func(_ string, row []byte) (bool, error) {
			x, err := moderation.Decode[moderation.Entry](row)
			m.last = max(m.last, x.N)
			return true, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("decisions of the operator: %w", err)
	}
	return m, nil
}

// Through gives the moderator its door, and the function that puts lists in force. It is called once, before anything else but Lists.
func (m *Moderator) Through(d *ingest.Door, apply func(context.Context, policy.Lists) error) {
	m.door, m.apply = d, apply
}

// put keeps a case in m. The caller holds mu, or is Open.
func (m *Moderator) put(x *moderation.Case) {
	m.cases[x.N] = x
	m.last = max(m.last, x.N)
	if x.Barred() {
		m.by[x.Subject] = x.N
	} else if m.by[x.Subject] == x.N {
		delete(m.by, x.Subject)
	}
}

// Lists returns the lists of the settings with what decisions bar and allow beside them.
func (m *Moderator) Lists() policy.Lists {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.withAllowed(m.listed.With(moderation.Lists(slices.Collect(maps.Keys(m.barred())))))
}

// barred returns the subjects that decisions bar, and their cases; not those of lists of the settings. The caller holds mu.
func (m *Moderator) barred() map[moderation.Subject]uint64 {
	out := maps.Clone(m.by)
	maps.DeleteFunc(out, func(_ moderation.Subject, n uint64) bool { return m.cases[n].List })
	return out
}

// SetLists puts other lists of the settings in force. Where that fails the old ones stay.
func (m *Moderator) SetLists(ctx context.Context, l policy.Lists) error {
	m.deciding.Lock()
	defer m.deciding.Unlock()
	m.mu.Lock()
	before := m.listed
	m.listed = l
	m.mu.Unlock()
	if err := m.apply(ctx, m.Lists()); err != nil {
		m.mu.Lock()
		m.listed = before
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
	out := make([]moderation.Case, 0, len(m.cases))
	for _, x := range m.cases {
		out = append(out, x.Clone())
	}
	slices.SortFunc(out, func(a, b moderation.Case) int { return cmp.Compare(b.N, a.N) })
	return out
}

// Case returns the case with a number.
func (m *Moderator) Case(n uint64) (moderation.Case, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.cases[n]
	if x == nil {
		return moderation.Case{}, false
	}
	return x.Clone(), true
}

// KeepsData reports whether a case keeps the git data of a repository that has gone.
func (m *Moderator) KeepsData(a nip34.Address) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.cases {
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
	if m.last > uint64(most) {
		after = rowName(journalPrefix, m.last-uint64(most))
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

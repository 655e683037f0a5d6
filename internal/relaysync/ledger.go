package relaysync

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/store"
)

// mostRecords bounds of how many relays something is kept.
const mostRecords = 10_000

// notePrefix is what the names of records begin with among the store's notes.
const notePrefix = "relay "

// ledger holds how relays have behaved, those that are wanted and those that
// were. It belongs to the engine's goroutine.
type ledger struct {
	store   *store.Store
	logger  *slog.Logger
	most    int
	records map[grasp.RelayURL]plan.Record
	changed map[grasp.RelayURL]struct{} // not in the store yet
	dropped map[grasp.RelayURL]struct{} // still in the store
	failing bool                        // the log says that the store does not take them
}

// readLedger reads what the store holds, as a new process takes it. What cannot be read begins anew.
func readLedger(s *store.Store, c plan.Config, log *slog.Logger) (*ledger, error) {
	l := &ledger{
		store: s, logger: log, most: mostRecords, records: make(map[grasp.RelayURL]plan.Record),
		changed: make(map[grasp.RelayURL]struct{}), dropped: make(map[grasp.RelayURL]struct{}),
	}
	notes, err := s.Notes()
	if err != nil {
		return nil, fmt.Errorf("read what is known of relays: %w", err)
	}
	for name, b := range notes {
		url, ok := strings.CutPrefix(name, notePrefix)
		if !ok {
			continue
		}
		u := grasp.RelayURL(url)
		r, err := decodeRecord(b)
		if err != nil {
			l.dropped[u] = struct{}{}
			log.Warn("relay begins anew", slog.String("relay", harmless(url)), slog.Any("error", err))
			continue
		}
		l.records[u] = r.Restarted(c)
	}
	return l, nil
}

// past returns what is known of a relay.
func (l *ledger) past(u grasp.RelayURL) plan.Record { return l.records[u] }

// put notes how a relay stands.
func (l *ledger) put(u grasp.RelayURL, r plan.Record) {
	l.records[u] = r
	l.changed[u] = struct{}{}
	delete(l.dropped, u)
}

// trim forgets relays until few enough are left: those first that were looked
// after longest ago, and none that is in use.
func (l *ledger) trim(inUse func(grasp.RelayURL) bool) {
	excess := len(l.records) - l.most
	if excess <= 0 {
		return
	}
	var idle []grasp.RelayURL
	for u := range l.records {
		if !inUse(u) {
			idle = append(idle, u)
		}
	}
	slices.SortFunc(idle, func(a, b grasp.RelayURL) int {
		return cmp.Or(l.records[a].At.Compare(l.records[b].At), cmp.Compare(a, b))
	})
	for _, u := range idle[:min(excess, len(idle))] {
		delete(l.records, u)
		delete(l.changed, u)
		l.dropped[u] = struct{}{}
	}
}

// keep writes what changed. What the store does not take now is written later.
func (l *ledger) keep() {
	set, remove := make(map[string][]byte, len(l.changed)), make([]string, 0, len(l.dropped))
	for u := range l.changed {
		set[notePrefix+string(u)] = encodeRecord(l.records[u])
	}
	for u := range l.dropped {
		remove = append(remove, notePrefix+string(u))
	}
	if err := l.store.KeepNotes(set, remove); err != nil {
		if !l.failing {
			l.logger.Warn("how relays behave is not kept over a restart", slog.Any("error", err))
		}
		l.failing = true
		return
	}
	l.failing = false
	clear(l.changed)
	clear(l.dropped)
}

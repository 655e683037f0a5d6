package relaysync

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// mostRecords is how many relays may have a record, as anybody can name relays.
const mostRecords = 10_000

// notePrefix is the beginning of the names of records among the store's notes.
const notePrefix = "relay "

// records holds the records of relays, of wanted ones and of former ones. Only the engine's goroutine uses it.
type records struct {
	store   *store.Store
	logger  *slog.Logger
	most    int
	byURL   map[grasp.RelayURL]history.Record
	changed map[grasp.RelayURL]struct{} // records that the store has still to take
	dropped map[grasp.RelayURL]struct{} // records that the store has still to remove
	failing bool                        // the log says already that the store takes no records
}

// readRecords reads the records of the store at the start of the process. It drops a record that it cannot read: the relay begins anew.
func readRecords(s *store.Store, t backoff.Policy, log *slog.Logger) (*records, error) {
	l := &records{
		store: s, logger: log, most: mostRecords, byURL: make(map[grasp.RelayURL]history.Record),
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
			log.Warn("what is remembered of a relay cannot be read: its history begins anew", slog.String("relay", harmless(url)), slog.Any("error", err))
			continue
		}
		l.byURL[u] = r.Restarted(t)
	}
	return l, nil
}

// past returns the record of a relay; an empty one where there is none.
func (l *records) past(u grasp.RelayURL) history.Record { return l.byURL[u] }

// put takes the record of a relay. keep writes it into the store.
func (l *records) put(u grasp.RelayURL, r history.Record) {
	l.byURL[u] = r
	l.changed[u] = struct{}{}
	delete(l.dropped, u)
}

// trim drops records until no more than l.most are left: the oldest records first, and none of a relay that is in use.
func (l *records) trim(inUse func(grasp.RelayURL) bool) {
	excess := len(l.byURL) - l.most
	if excess <= 0 {
		return
	}
	var idle []grasp.RelayURL
	for u := range l.byURL {
		if !inUse(u) {
			idle = append(idle, u)
		}
	}
	slices.SortFunc(idle, func(a, b grasp.RelayURL) int {
		return cmp.Or(l.byURL[a].At.Compare(l.byURL[b].At), cmp.Compare(a, b))
	})
	for _, u := range idle[:min(excess, len(idle))] {
		delete(l.byURL, u)
		delete(l.changed, u)
		l.dropped[u] = struct{}{}
	}
}

// keep writes the changes into the store. It logs the first of a row of failures, and the next keep tries again.
func (l *records) keep() {
	set, remove := make(map[string][]byte, len(l.changed)), make([]string, 0, len(l.dropped))
	for u := range l.changed {
		set[notePrefix+string(u)] = encodeRecord(l.byURL[u])
	}
	for u := range l.dropped {
		remove = append(remove, notePrefix+string(u))
	}
	if err := l.store.KeepNotes(set, remove); err != nil {
		if !l.failing {
			l.logger.Warn("what graspd knows of how relays behave cannot be kept over a restart", slog.Any("error", err))
		}
		l.failing = true
		return
	}
	l.failing = false
	clear(l.changed)
	clear(l.dropped)
}

package relaysync

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/record"
	"github.com/graspd/graspd/internal/store"
)

// mostRecords is how many relays have a record at most: anybody can name relays.
const mostRecords = 10_000

// notePrefix begins the names of records among the store's notes.
const notePrefix = "relay "

// records holds what is remembered of relays, those that are wanted and those that were. It belongs to the engine's goroutine.
type records struct {
	store   *store.Store
	logger  *slog.Logger
	most    int
	byURL   map[grasp.RelayURL]record.Record
	changed map[grasp.RelayURL]struct{} // those that the store has to take
	dropped map[grasp.RelayURL]struct{} // those that the store has to remove
	failing bool                        // the log says that the store takes no records
}

// readRecords reads the records of the store, as a new process takes them over. A record that cannot be read is dropped: the relay begins
// anew.
func readRecords(s *store.Store, t health.Terms, log *slog.Logger) (*records, error) {
	l := &records{
		store: s, logger: log, most: mostRecords, byURL: make(map[grasp.RelayURL]record.Record),
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

// past returns what is known of a relay.
func (l *records) past(u grasp.RelayURL) record.Record { return l.byURL[u] }

// put notes the record of a relay, for keep.
func (l *records) put(u grasp.RelayURL, r record.Record) {
	l.byURL[u] = r
	l.changed[u] = struct{}{}
	delete(l.dropped, u)
}

// trim drops records until most are left: first those whose relay was dealt with longest ago, and none of a relay that is in use.
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

// keep writes into the store what changed. After a failure, which is logged once, it is tried again with the next keep.
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

package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/graspd/graspd/internal/status"
)

// Status is the document /status.json. Times are RFC 3339 in UTC, ratios 0 to 1;
// what is not known is null.
type Status struct {
	Relay Self        `json:"relay"`
	Store StoreStatus `json:"store"`
	Sync  SyncStatus  `json:"sync"`
	Git   *status.Git `json:"git,omitempty"` // nil where no repositories are hosted

	Nothing *status.Nothing `json:"nothing_carried,omitempty"` // nil while something is carried
}

// Self is what this relay is.
type Self struct {
	URL     string `json:"url"`
	Version string `json:"version"`
}

// StoreStatus is what is stored: events, announcements among them, and the
// number of the last entry of the log.
type StoreStatus struct {
	Events       int64  `json:"events"`
	Repositories int64  `json:"repositories"`
	Head         uint64 `json:"head"`
}

// SyncStatus is how the engine stands with the relays that hold a slot, in the order of their URLs.
type SyncStatus struct {
	Relays []status.Relay `json:"relays"`
}

// status answers with how everything stands now.
func (c Config) status(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	answerJSON(w, c.now(ctx))
}

func (c Config) now(ctx context.Context) Status {
	st := c.Store.Stats()
	s := Status{
		Relay: Self{URL: string(c.URL), Version: c.Version},
		Store: StoreStatus{Events: st.Events, Repositories: st.Repositories, Head: uint64(st.Head)},
		Sync:  SyncStatus{Relays: []status.Relay{}},
	}
	s.Nothing = c.nothing()
	if c.Git != nil {
		s.Git = c.Git()
	}
	if c.Sync != nil {
		s.Sync.Relays = append(s.Sync.Relays, c.sorted(ctx)...)
	}
	return s
}

// sorted asks the engine and puts its relays in order.
func (c Config) sorted(ctx context.Context) []status.Relay {
	relays := slices.Clone(c.Sync.Relays(ctx))
	slices.SortFunc(relays, func(a, b status.Relay) int { return cmp.Compare(a.URL, b.URL) })
	return relays
}

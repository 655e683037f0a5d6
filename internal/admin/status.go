package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"graspd/internal/plan"
)

// Status is the document /status.json. Times are RFC 3339 in UTC, ratios 0 to 1;
// what is not known is null.
type Status struct {
	Relay Self        `json:"relay"`
	Store StoreStatus `json:"store"`
	Sync  SyncStatus  `json:"sync"`
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
	Relays []RelayStatus `json:"relays"`
}

// RelayStatus is how the engine stands with one of them.
type RelayStatus struct {
	URL               string     `json:"url"`
	Bootstrap         bool       `json:"bootstrap"`
	Phase             string     `json:"phase"`  // idle, waiting, dialing, syncing, live
	Health            string     `json:"health"` // healthy, degraded, dead
	Want              Count      `json:"want"`
	Confirmed         Count      `json:"confirmed"`
	InFlight          int        `json:"in_flight"` // items
	LiveSubscriptions int        `json:"live_subscriptions"`
	SweptRoots        int        `json:"swept_roots"`
	Turn              int        `json:"turn_seconds"`         // until each of these has been asked again; 0 = there are none
	Refused           int        `json:"refused_repositories"` // the relay refuses to be asked for them
	Negentropy        string     `json:"negentropy"`           // unknown, works, refused, truncates
	Failures          int        `json:"failures"`             // in a row
	Cause             *string    `json:"cause"`                // of the last one
	NextAttempt       *time.Time `json:"next_attempt"`
	LastAlive         *time.Time `json:"last_alive"`
	Events            Sources    `json:"events"`
	Gaps              uint64     `json:"gaps"`
	Undelivered       uint64     `json:"undelivered"`
	Uptime            *float64   `json:"uptime"`
	Coverage          *float64   `json:"coverage"`
}

// Count is a number of repositories and of root events.
type Count struct {
	Repositories int `json:"repositories"`
	Roots        int `json:"roots"`
}

// Sources counts the events that the relay brought first, by how they came.
type Sources struct {
	Live    uint64 `json:"live"`
	Catchup uint64 `json:"catchup"`
	Daily   uint64 `json:"daily"`
}

// status answers with how everything stands now.
func (c Config) status(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	b, err := json.Marshal(c.now(ctx))
	if err != nil { // only a ratio that is no number could do that
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	head(w, "application/json")
	_, _ = w.Write(append(b, '\n')) // whoever asked may be gone
}

func (c Config) now(ctx context.Context) Status {
	st := c.Store.Stats()
	s := Status{
		Relay: Self{URL: string(c.URL), Version: c.Version},
		Store: StoreStatus{Events: st.Events, Repositories: st.Repositories, Head: uint64(st.Head)},
		Sync:  SyncStatus{Relays: []RelayStatus{}},
	}
	if c.Sync == nil {
		return s
	}
	for _, r := range c.sorted(ctx) {
		s.Sync.Relays = append(s.Sync.Relays, statusOf(r))
	}
	return s
}

// sorted asks the engine and puts its relays in order.
func (c Config) sorted(ctx context.Context) []Relay {
	relays := slices.Clone(c.Sync.Relays(ctx))
	slices.SortFunc(relays, func(a, b Relay) int { return cmp.Compare(a.URL, b.URL) })
	return relays
}

func statusOf(r Relay) RelayStatus {
	s := RelayStatus{
		URL: string(r.URL), Bootstrap: r.Bootstrap, Phase: r.Phase, Health: r.Health.String(), Want: count(r.Want), Confirmed: count(r.Confirmed),
		InFlight: r.InFlight, LiveSubscriptions: r.LiveREQs, SweptRoots: r.SweptRoots, Turn: int(r.Turn.Round(time.Second) / time.Second), Refused: r.Refused, Negentropy: r.Negentropy, Failures: r.Failures,
		NextAttempt: moment(r.NextAttempt), LastAlive: moment(r.LastAlive),
		Events: Sources{Live: r.Counters.Live, Catchup: r.Counters.Catchup, Daily: r.Counters.Daily},
		Gaps:   r.Counters.Gaps, Undelivered: r.Counters.Undelivered, Coverage: r.Coverage,
	}
	if r.Cause != "" {
		s.Cause = new(strings.ToValidUTF8(r.Cause, "\uFFFD"))
	}
	if up, ok := r.Uptime.Ratio(); ok {
		s.Uptime = &up
	}
	return s
}

func count(c plan.Count) Count { return Count(c) }

// moment is a time to the second; nil where there is none, or none that RFC 3339 can tell.
func moment(t time.Time) *time.Time {
	t = t.UTC().Truncate(time.Second)
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	return &t
}

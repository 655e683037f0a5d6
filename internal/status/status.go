package status

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Relay is the state of this relay with another one. In JSON times are RFC 3339 in UTC, ratios are 0 to 1, and what is not known is null.
type Relay struct {
	URL          grasp.RelayURL `json:"url"`
	Bootstrap    bool           `json:"bootstrap"`
	Mailbox      int            `json:"mailbox_people,omitempty"` // people whose mailbox it is (GRASP-03)
	Index        bool           `json:"index,omitempty"`          // the operator has named it as an index
	Phase        string         `json:"phase"`                    // idle, waiting, dialing, syncing, unproven or live
	Health       Health         `json:"health"`
	Want         Count          `json:"want"`
	Confirmed    Count          `json:"confirmed"`
	Unproven     Count          `json:"unproven,omitzero"` // answered, but the relay may have more than it showed
	InFlight     int            `json:"in_flight"`         // items whose stored events are being asked for
	LiveREQs     int            `json:"live_subscriptions"`
	SweptRoots   int            `json:"swept_roots"`
	Turn         Seconds        `json:"turn_seconds"`         // how long until each swept root has been asked for again; 0 without any
	Refused      int            `json:"refused_repositories"` // repositories that the relay refuses to be asked for
	Negentropy   string         `json:"negentropy"`           // unknown, works, truncates or refused
	Failures     int            `json:"failures"`             // in a row
	Cause        Text           `json:"cause"`                // of the last failure; a stranger may have written it
	FailingSince Moment         `json:"failing_since"`        // the first failure in a row; zero without any
	NextAttempt  Moment         `json:"next_attempt"`         // zero while connected
	LastAlive    Moment         `json:"last_alive"`           // when it last gave a sign of life; zero where it never connected
	Counters
	Uptime   *float64 `json:"uptime"`   // the share of the time watched
	Coverage *float64 `json:"coverage"` // the share of the events here that the relay has, over its repositories

	OnlyMailbox  bool          `json:"-"` // it is wanted only as a mailbox
	Connected    bool          `json:"-"`
	ConnectedFor time.Duration `json:"-"`
	Ourself      bool          `json:"-"` // it proved to be this relay itself
	Behind       time.Duration `json:"-"` // for how long something that is wanted has not been confirmed; 0 when all is
	Lacks        *Lacks        `json:"-"`
}

// The phases of a relay.
const (
	PhaseIdle    = "idle"
	PhaseWaiting = "waiting"
	PhaseDialing = "dialing"
	PhaseSyncing = "syncing"
	PhaseLive    = "live"

	PhaseUnproven = "unproven"
)

// Counters are totals since the relay got its slot.
type Counters struct {
	Sources     `json:"events"`
	Gaps        uint64 `json:"gaps"`        // events that a live subscription should have brought and did not
	Undelivered uint64 `json:"undelivered"` // events that the relay showed in a reconciliation and never sent

	Attempts     uint64 `json:"-"`
	DialFailures uint64 `json:"-"`

	// Counters of NIP-77.
	Rounds      uint64 `json:"-"` // messages of the relay that this one answered, or that ended a reconciliation
	NegSent     uint64 `json:"-"` // bytes of messages, as hex, the way they travel
	NegReceived uint64 `json:"-"`
	Equal       uint64 `json:"-"` // events that proved to be on both sides and did not travel
}

// Sources counts the events that a relay brought first, by how they came.
type Sources struct {
	Live    uint64 `json:"live"`
	Catchup uint64 `json:"catchup"`
	Daily   uint64 `json:"daily"`
}

// Events returns the sum.
func (s Sources) Events() uint64 { return s.Live + s.Catchup + s.Daily }

// Count is a number of repositories and of root events.
type Count struct {
	Repositories int `json:"repositories"`
	Roots        int `json:"roots"`
}

// Items returns the sum.
func (c Count) Items() int { return c.Repositories + c.Roots }

// Lacks says how many of the events here a relay lacks, and of how many repositories it lacks any.
type Lacks struct {
	Events       uint64
	Repositories int
}

// Figure is one metric of a relay. Read calls tell with each value and the values of its labels; not at all while the figure is not known.
type Figure struct {
	Name, Help string
	Counter    bool // it only grows; else it is a gauge
	Labels     []string
	Read       func(r *Relay, tell func(v float64, labels ...string))
}

// Figures returns the metrics of one relay. None is by repository, as strangers name as many repositories as they like.
func Figures() []Figure {
	type told = func(v float64, labels ...string)
	return []Figure{
		{"ngit_sync_relay_connected", "1 while the relay is connected, else 0.", false, nil, func(r *Relay, tell told) { tell(oneOrZero(r.Connected)) }},
		{"ngit_sync_connection_attempts_total", "Connections attempted, by result: success or failure.", true, []string{"result"}, func(r *Relay, tell told) {
			tell(float64(r.DialFailures), "failure")
			tell(float64(r.Attempts-r.DialFailures)-oneOrZero(r.Phase == PhaseDialing), "success")
		}},
		{"ngit_sync_relay_status", "1 healthy, 2 degraded, 3 dead.", false, nil, func(r *Relay, tell told) { tell(r.Health.number()) }},
		{"ngit_sync_relay_failures", "Failures in a row.", false, nil, func(r *Relay, tell told) { tell(float64(r.Failures)) }},
		{"ngit_sync_gap_events_total", "Events that a live subscription should have brought and did not, found later.", true, nil, func(r *Relay, tell told) { tell(float64(r.Gaps)) }},
		{"graspd_sync_mailbox_people", "Participants who say that they write to the relay (GRASP-03).", false, nil, func(r *Relay, tell told) { tell(float64(r.Mailbox)) }},
		{"graspd_sync_wanted", "What graspd wants of the relay, by item: repositories or roots (issues, patches, pull requests).", false, []string{"item"}, func(r *Relay, tell told) {
			tell(float64(r.Want.Repositories), "repositories")
			tell(float64(r.Want.Roots), "roots")
		}},
		{"graspd_sync_confirmed", "How much of what graspd wants of the relay is known to be complete.", false, []string{"item"}, func(r *Relay, tell told) {
			tell(float64(r.Confirmed.Repositories), "repositories")
			tell(float64(r.Confirmed.Roots), "roots")
		}},
		{"graspd_sync_unproven", "How much of what graspd wants of the relay was answered in a way that does not prove that it is complete.", false, []string{"item"}, func(r *Relay, tell told) {
			tell(float64(r.Unproven.Repositories), "repositories")
			tell(float64(r.Unproven.Roots), "roots")
		}},
		{"graspd_sync_behind_seconds", "For how long something that graspd wants of the relay has not been known to be complete; 0 when all is.", false, nil, func(r *Relay, tell told) { tell(r.Behind.Seconds()) }},
		{"graspd_sync_in_flight", "Items whose stored events are being fetched.", false, nil, func(r *Relay, tell told) { tell(float64(r.InFlight)) }},
		{"graspd_sync_live_subscriptions", "Live subscriptions open at the relay.", false, nil, func(r *Relay, tell told) { tell(float64(r.LiveREQs)) }},
		{"graspd_sync_swept_roots", "Roots that do not fit into the relay's limits and are asked for in turns.", false, nil, func(r *Relay, tell told) { tell(float64(r.SweptRoots)) }},
		{"graspd_sync_events_total", "Events that the relay brought first, by how: live, catchup or daily.", true, []string{"source"}, func(r *Relay, tell told) {
			tell(float64(r.Live), "live")
			tell(float64(r.Catchup), "catchup")
			tell(float64(r.Daily), "daily")
		}},
		{"graspd_sync_undelivered_total", "Events that the relay showed it has and did not send.", true, nil, func(r *Relay, tell told) { tell(float64(r.Undelivered)) }},
		{"graspd_sync_reconciliation_rounds_total", "Messages of the relay in reconciliations (NIP-77).", true, nil, func(r *Relay, tell told) { tell(float64(r.Rounds)) }},
		{"graspd_sync_reconciliation_bytes_total", "Bytes of reconciliations, by direction: sent or received.", true, []string{"direction"}, func(r *Relay, tell told) {
			tell(float64(r.NegSent), "sent")
			tell(float64(r.NegReceived), "received")
		}},
		{"graspd_sync_reconciled_events_total", "Events that reconciliations found on both sides, so that they did not travel.", true, nil, func(r *Relay, tell told) { tell(float64(r.Equal)) }},
		{"graspd_sync_uptime_ratio", "For what part of the time watched the relay was connected, 0 to 1.", false, nil, func(r *Relay, tell told) { ratio(r.Uptime, tell) }},
		{"graspd_sync_coverage_ratio", "How much of what is stored here the relay has, 0 to 1; absent while not known.", false, nil, func(r *Relay, tell told) { ratio(r.Coverage, tell) }},
		{"graspd_sync_lacked_events", "Events stored here that the relay lacks of the repositories that name it; absent while not known.", false, nil, func(r *Relay, tell told) {
			if r.Lacks != nil {
				tell(float64(r.Lacks.Events))
			}
		}},
		{"graspd_sync_lacking_repositories", "Repositories of which the relay lacks any event; absent while not known.", false, nil, func(r *Relay, tell told) {
			if r.Lacks != nil {
				tell(float64(r.Lacks.Repositories))
			}
		}},
	}
}

func ratio(r *float64, tell func(v float64, labels ...string)) {
	if r != nil {
		tell(*r)
	}
}

func oneOrZero(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

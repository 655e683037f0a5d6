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

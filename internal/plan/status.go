package plan

import (
	"time"

	"graspd/internal/health"
)

// Health is how a relay has behaved since its last reset.
type Health uint8

// The states of health.
const (
	Healthy  Health = iota + 1
	Degraded        // at least one failure since the last progress
	Dead            // failing without a break for a day
)

func (h Health) String() string {
	switch h {
	case Degraded:
		return "degraded"
	case Dead:
		return "dead"
	}
	return "healthy"
}

// Count is a number of repositories and of root events.
type Count struct{ Repositories, Roots int }

// Lacks is what a relay lacks of what is here: events, and repositories of which it lacks any.
type Lacks struct {
	Events       uint64
	Repositories int
}

// Status is what an operator sees of one peer.
type Status struct {
	Phase        string // idle, waiting, dialing, syncing or live
	Health       Health
	Connected    bool
	ConnectedFor time.Duration
	Ourself      bool // the relay proved to be this one
	Bootstrap    bool
	Want         Count
	Confirmed    Count
	Behind       time.Duration // for how long something wanted has not been confirmed; 0 = all is
	InFlight     int           // items whose stored events are being asked
	LiveREQs     int
	SweptRoots   int
	Turn         time.Duration // how long it takes until each of these has been asked again; 0 = there are none
	Refused      int           // repositories that the relay refuses to be asked for
	Negentropy   string        // unknown, works, truncates or refused
	Failures     int
	Cause        string    // of the last failure, a stranger's text perhaps; empty when there is none in a row
	NextAttempt  time.Time // zero when connected
	LastAlive    time.Time // zero when never connected
	Counters     Counters
	Uptime       health.Uptime
	Lacks        *Lacks   // nil = unknown
	Coverage     *float64 // how much of what is here the relay has, 0 to 1, over its repositories; nil = unknown
}

// longestCause is how much of a reason is kept. Bytes.
const longestCause = 300

var phaseNames = [...]string{phaseIdle: "idle", phaseDialing: "dialing", phaseOpen: "syncing", phaseWaiting: "waiting"}

// Status describes the peer at the time of the last Step.
func (p *Peer) Status() Status {
	s := Status{
		Phase: phaseNames[p.phase], Ourself: p.ourself, Health: p.health(), Connected: p.conn != nil,
		Failures: p.failures.N, Counters: p.counted, Negentropy: p.neg.String(), Uptime: p.uptime,
		LastAlive: p.lastAlive,
	}
	s.Coverage, s.Lacks = p.covered()
	if p.failures.N > 0 || p.slowedBy > 0 {
		s.Cause = p.cause
	}
	if p.phase == phaseWaiting {
		s.NextAttempt = p.now.Wall.Add(p.wakeDial - p.now.Mono)
	}
	if p.want != nil {
		s.Behind = p.now.Mono - p.complete
		s.Bootstrap = p.want.Bootstrap
		s.Want = Count{Repositories: len(p.want.Repos), Roots: p.wanted.n - 1 - len(p.want.Repos)}
		s.Confirmed = p.confirmedCount()
		s.Refused = p.suspects.refused.n
	}
	if c := p.conn; c != nil {
		s.ConnectedFor = p.now.Mono - c.opened.Mono
		for _, g := range c.groups {
			s.InFlight += len(g.items)
		}
		if s.LiveREQs, s.SweptRoots = len(c.live), c.sweptRoots(); s.SweptRoots > 0 {
			s.Turn = c.turnOf(p.now.Mono)
		}
		if p.Settled() {
			s.Phase = "live"
		}
	}
	return s
}

// Counted returns the totals so far.
func (p *Peer) Counted() Counters { return p.counted }

// confirmedCount counts what is confirmed, or was when the relay was last heard.
func (p *Peer) confirmedCount() Count {
	n := Count{Repositories: p.confirmed.repos.n + p.held.repos.n}
	n.Roots = p.confirmed.n + p.held.n - n.Repositories
	if p.has(Announcements) {
		n.Roots--
	}
	return n
}

// sweptRoots counts the root events that have no live REQ.
func (c *session) sweptRoots() int {
	n := 0
	for _, s := range c.sweeps {
		if s.layer == LayerRoots {
			n += len(s.items)
		}
	}
	for _, g := range c.groups {
		if g.swept && g.layer == LayerRoots {
			n += len(g.items)
		}
	}
	return n
}

func (p *Peer) health() Health {
	switch {
	case p.failures.Dead(p.cfg.terms(), p.now):
		return Dead
	case p.failures.N > 0:
		return Degraded
	}
	return Healthy
}

// Settled says that the relay is connected and everything wanted is confirmed, but for what the relay refuses to be asked
// for.
func (p *Peer) Settled() bool {
	return p.conn != nil && p.confirmed.n+p.suspects.refused.n == p.wanted.n
}

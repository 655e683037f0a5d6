package peer

import (
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/want"
)

var phaseNames = [...]string{phaseIdle: status.PhaseIdle, phaseDialing: status.PhaseDialing, phaseOpen: status.PhaseSyncing, phaseWaiting: status.PhaseWaiting}

// Status describes the peer at the time of the last Step.
func (p *Peer) Status() status.Relay {
	s := status.Relay{
		URL: p.cfg.URL, Phase: phaseNames[p.phase], Ourself: p.dialing.Ourself(), Health: p.health(), Connected: p.conn != nil,
		Failures: p.dialing.Failures(), Counters: p.counted, Negentropy: p.comparing.support.String(), Uptime: p.uptime.Ratio(),
		LastAlive: status.Moment{Time: p.lastAlive},
	}
	if share, lacking := p.coverage.Total(); p.comparing.tells() && share.Here > 0 {
		s.Coverage = new(1 - float64(share.Lacks)/float64(share.Here))
		s.Lacks = &status.Lacks{Events: share.Lacks, Repositories: lacking}
	}
	s.Cause = status.Text(p.dialing.Trouble())
	s.FailingSince.Time = p.dialing.FailingSince(p.now)
	if p.phase == phaseWaiting {
		s.NextAttempt.Time = p.now.Wall.Add(p.dialAt() - p.now.Mono)
	}
	if p.want != nil {
		s.Bootstrap, s.Mailbox, s.OnlyMailbox = p.want.Bootstrap, p.want.Mailbox.Size(), p.want.OnlyMailbox()
		s.Index = p.want.Mailbox != nil && len(p.want.Mailbox.Index) > 0
		if !s.OnlyMailbox {
			s.Behind = p.now.Mono - p.complete
			s.Want = status.Count{Repositories: len(p.want.Repos), Roots: p.wanted.Len() - 1 - len(p.want.Repos)}
		}
		s.Confirmed, s.Unproven = p.confirmedCount()
		s.Confirmed.Repositories = max(0, s.Confirmed.Repositories-p.want.Claims)
		s.Refused = p.suspects.under.Refused()
	}
	if c := p.conn; c != nil {
		s.ConnectedFor = p.now.Mono - c.opened.Mono
		for _, g := range c.groups {
			s.InFlight += len(g.Items)
		}
		if s.LiveREQs, s.SweptRoots = c.planner.Len(), c.polledRoots(); s.SweptRoots > 0 {
			s.Turn.Duration = c.turnOf(p.now.Mono)
		}
		if p.AllConfirmed() && !s.OnlyMailbox {
			s.Phase = status.PhaseLive
			if p.unproven.Len() > 0 {
				s.Phase = status.PhaseUnproven
			}
		}
	}
	return s
}

// Counted returns the totals so far.
func (p *Peer) Counted() status.Counters { return p.counted }

// confirmedCount counts what is confirmed, or was when the relay was last heard; apart that of which the relay may have more than it showed.
func (p *Peer) confirmedCount() (confirmed, unproven status.Count) {
	for it := range p.unproven.Above(want.Announcements) {
		switch {
		case !p.has(it):
		case p.repository(it):
			unproven.Repositories++
		default:
			unproven.Roots++
		}
	}
	repos, all := p.confirmed.Repos.Len()+p.held.Repos.Len(), p.confirmed.Len()+p.held.Len()
	if p.has(want.Announcements) {
		all--
	}
	return status.Count{Repositories: repos - unproven.Repositories, Roots: all - repos - unproven.Roots}, unproven
}

// polledRoots counts the root events that have no live REQ.
func (c *connection) polledRoots() int {
	n := 0
	for _, s := range c.planner.Polls() {
		if s.Layer == want.LayerRoots {
			n += len(s.Items)
		}
	}
	for _, g := range c.groups {
		if g.polled && g.Layer == want.LayerRoots {
			n += len(g.Items)
		}
	}
	return n
}

func (p *Peer) health() status.Health {
	switch {
	case p.dialing.Dead(p.now):
		return status.Dead
	case p.dialing.Failures() > 0:
		return status.Degraded
	}
	return status.Healthy
}

// AllConfirmed says that the relay is connected and everything wanted is confirmed, but for what the relay refuses to be asked
// for.
func (p *Peer) AllConfirmed() bool {
	return p.conn != nil && p.confirmed.Len()+p.suspects.under.Refused() == p.wanted.Len()
}

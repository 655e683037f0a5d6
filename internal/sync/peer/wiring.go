package peer

import (
	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
)

// This file says which part of a peer sees which others.

// NewPeer returns an idle peer that wants nothing.
func NewPeer(c Config) *Peer {
	p := &Peer{stepContext: stepContext{cfg: c.WithDefaults()}, wakeAt: backoff.Never}
	p.dialing = history.NewAttempts(p.cfg.Backoff())
	p.demands.stepContext = &p.stepContext
	p.references = references{stepContext: &p.stepContext, itemState: &p.itemState}
	p.suspects = suspects{stepContext: &p.stepContext, itemState: &p.itemState}
	p.comparing = comparing{stepContext: &p.stepContext, needed: mostNeeded}
	p.unfiltered = unfiltered{stepContext: &p.stepContext, itemState: &p.itemState, coverage: &p.coverage, peer: p}
	return p
}

// connection is the state that lives and dies with one connection.
type connection struct {
	following
	catchup
	connState
	echo refusal.Echo // about NIP-77
	harm unsolicited.Harm
}

// open returns a connection that has just opened, and shows it to the parts that outlive it. told is what the relay says that it bears.
func (p *Peer) open(told capacity.Capacity, outsider bool) *connection {
	c := &connection{connState: newConnState(&p.stepContext, told), harm: unsolicited.NewHarm(p.now.Mono)}
	c.following = following{
		stepContext: &p.stepContext, itemState: &p.itemState, connState: &c.connState, demands: &p.demands, stored: &c.catchup, suspects: &p.suspects, unfiltered: &p.unfiltered,
	}
	c.catchup = catchup{
		stepContext: &p.stepContext, itemState: &p.itemState, connState: &c.connState, demands: &p.demands, live: &c.following, suspects: &p.suspects,
		comparing: &p.comparing, references: &p.references, coverage: &p.coverage, left: &p.left, peer: p,
	}
	p.comparing.begin(&c.catchup, outsider)
	p.references.begin(&c.catchup)
	p.suspects.begin(&c.following, &c.catchup)
	p.unfiltered.begin(&c.following, &c.catchup)
	return c
}

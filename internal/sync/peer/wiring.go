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
	p := &Peer{desk: desk{cfg: c.WithDefaults()}, wakeAt: backoff.Never}
	p.dialing = history.NewAttempts(p.cfg.Backoff())
	p.demands.desk = &p.desk
	p.references = references{desk: &p.desk, books: &p.books}
	p.suspects = suspects{desk: &p.desk, books: &p.books}
	p.comparing = comparing{desk: &p.desk, needed: mostNeeded}
	p.whole = whole{desk: &p.desk, books: &p.books, coverage: &p.coverage, peer: p}
	return p
}

// connection is the state that lives and dies with one connection.
type connection struct {
	following
	catchup
	wire
	echo refusal.Echo
	harm unsolicited.Harm
}

// open returns a connection that has just opened, and shows it to the parts that outlive it. told is what the relay says that it bears.
func (p *Peer) open(told capacity.Capacity, outsider bool) *connection {
	c := &connection{wire: newWire(&p.desk, told), harm: unsolicited.NewHarm(p.now.Mono)}
	c.following = following{
		desk: &p.desk, books: &p.books, wire: &c.wire, demands: &p.demands, stored: &c.catchup, suspects: &p.suspects, whole: &p.whole,
	}
	c.catchup = catchup{
		desk: &p.desk, books: &p.books, wire: &c.wire, demands: &p.demands, live: &c.following, suspects: &p.suspects,
		comparing: &p.comparing, references: &p.references, coverage: &p.coverage, left: &p.left, peer: p,
	}
	p.comparing.begin(&c.catchup, outsider)
	p.references.begin(&c.catchup)
	p.suspects.begin(&c.following, &c.catchup)
	p.whole.begin(&c.following, &c.catchup)
	return c
}

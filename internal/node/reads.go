package node

import (
	"sync/atomic"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
	"github.com/graspd/graspd/internal/serve/forward"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/status"
)

// ruling has the rules in force: a door, or what stands for it where another node writes.
type ruling interface {
	Rules() policy.Rules
	FollowRules() (policy.Rules, <-chan struct{})
}

// elsewhere stands, at a node that follows, for what decides at the one that leads. Its rules are what the settings in force and the operator's
// decisions make.
type elsewhere struct {
	cfg   Config
	store *store.Store
	force atomic.Pointer[Settings]
	*forward.Carrier
}

// decided returns the route, which the node that leads answers where this one follows.
func (x *elsewhere) decided(r front.Route) front.Route {
	if x != nil {
		return x.Route(r)
	}
	return r
}

// carried is what clients of this node asked of the one that leads.
func (x *elsewhere) carried() status.Carried {
	if x == nil {
		return status.Carried{}
	}
	return x.Stats()
}

// Rules implements ruling.
func (x *elsewhere) Rules() policy.Rules {
	c := x.cfg.with(*x.force.Load())
	decided, err := moderator.Read(x.store)
	if err != nil {
		x.cfg.Logger.Error("the operator's decisions cannot be read", "error", err)
		return c.rules(c.Lists)
	}
	return c.rules(decided.With(c.Lists))
}

// FollowRules implements ruling. Nobody hears of other rules.
func (x *elsewhere) FollowRules() (policy.Rules, <-chan struct{}) { return x.Rules(), nil }

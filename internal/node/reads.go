package node

import (
	"net/http"
	"sync/atomic"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
	"github.com/graspd/graspd/internal/serve/front"
)

// ifWrites returns a route that tells everybody to try again where another node writes.
func ifWrites(writes bool, r front.Route) front.Route {
	if !writes {
		r.Serve = tellNoWriter
	}
	return r
}

func tellNoWriter(w http.ResponseWriter, _ *http.Request, _ front.Client) {
	w.Header().Set("Retry-After", "5")
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, ingest.NoWriter, http.StatusServiceUnavailable)
}

// ruling has the rules in force: a door, or what stands for it where another node writes.
type ruling interface {
	Rules() policy.Rules
	FollowRules() (policy.Rules, <-chan struct{})
}

// elsewhere has the rules of a node that follows: what its own settings and the operator's decisions make.
type elsewhere struct {
	cfg   Config
	store *store.Store
	lists atomic.Pointer[policy.Lists] // of the settings
}

// Rules implements ruling.
func (x *elsewhere) Rules() policy.Rules {
	lists := *x.lists.Load()
	decided, err := moderator.Read(x.store)
	if err != nil {
		x.cfg.Logger.Error("the operator's decisions cannot be read", "error", err)
		return x.cfg.rules(lists)
	}
	return x.cfg.rules(decided.With(lists))
}

// FollowRules implements ruling. Nobody hears of other rules.
func (x *elsewhere) FollowRules() (policy.Rules, <-chan struct{}) { return x.Rules(), nil }

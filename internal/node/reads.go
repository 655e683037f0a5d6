package node

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
	"github.com/graspd/graspd/internal/operate/nip86"
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

// ofGit is the path of a repository or of something in one, of an owner or of an event, below the base of the service.
var ofGit = regexp.MustCompile(`^/([^/]+/[^/]+\.git(/|$)|prs/[^/]+/[^/]+\.git(/|$)|npub1|note1|nevent1)`)

// noGit is the route of everything below a base that needs git data, on a node that has none.
func noGit(base string) front.Route {
	return front.Route{Name: "git elsewhere", Door: front.Signed, Serve: tellNoWriter, Takes: func(r *http.Request) bool {
		below, ok := strings.CutPrefix(r.URL.EscapedPath(), strings.TrimRight(base, "/"))
		return ok && ofGit.MatchString(below)
	}}
}

// reader is what a node shows by, with a Term or without.
type reader struct{ n *Node }

// rules returns the rules in force. Where another node writes, these are what this node's settings and the operator's decisions make.
func (r reader) rules() policy.Rules {
	n := r.n
	if !n.follows {
		return n.Door.Rules()
	}
	n.said.mu.Lock()
	lists := n.said.settings.Lists
	n.said.mu.Unlock()
	decided, err := moderator.Read(n.Store)
	if err != nil {
		n.log.Error("the operator's decisions cannot be read", "error", err)
		return n.cfg.rules(lists)
	}
	return n.cfg.rules(decided.With(lists))
}

// follow returns what tells the relay its rules; nil where the door does.
func (r reader) follow() func() (policy.Rules, <-chan struct{}) {
	if !r.n.follows {
		return nil
	}
	return func() (policy.Rules, <-chan struct{}) { return r.rules(), nil }
}

// set puts those settings in force that decide what is shown and to whom, where another node writes, whose own decide what is taken. The caller holds
// said.mu.
func (r reader) set(s Settings) {
	n := r.n
	info, hold, _ := nip86.Apply(s.Info, n.Changes())
	show, err := n.Relay.Present(n.information(info, s.Lists), s.About, s.MinPoW)
	if err != nil {
		n.log.Error("the settings stay as they were", "error", err)
		return
	}
	show()
	n.said.settings = s
	n.said.changes.Store(&hold)
	n.setMembers(s.Members)
	n.log.Info("settings reread: what is shown follows them, and what is taken those of the node that writes", n.memberCount()...)
}

package node

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/forward"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// newCarrier returns what carries to the node that leads what one that follows does not do itself.
func (m *Member) newCarrier(v nostr.Verifier, log *slog.Logger) *forward.Carrier {
	return forward.NewCarrier(forward.Config{Nodes: others{m}, Verifier: v, Logger: log.With("component", "carrier")})
}

// others are the nodes beside a member.
type others struct{ m *Member }

// Leader implements forward.Nodes.
func (o others) Leader() string {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	return o.m.leader.URL
}

// Authorize implements forward.Nodes.
func (o others) Authorize(h http.Header) { o.m.authorize(h) }

// FollowPlace implements forward.Nodes.
func (o others) FollowPlace() (store.Place, <-chan struct{}) { return o.m.store.FollowPlace() }

// queues are those of clients' events: at the door, or on the way to one elsewhere.
type queues struct {
	door *ingest.Door
	x    *elsewhere // nil where this node writes
}

// Source implements relay.Door.
func (q queues) Source(c ingest.SourceConfig) relay.Source {
	if q.x != nil {
		return q.x.Source(c)
	}
	return q.door.Source(c)
}

// answer has a Node that leads answer what others carry to it, until the member's answers retire.
func (m *Member) answer(n *Node) {
	m.answers.Lead(forward.Answers{Handler: n.Front.Handler(), Door: n.Door, Log: m.store})
}

// signedFrom returns from when on this node, which leads, takes signed requests that are good once: what is dated before, or could have been when the
// node before led, that one may have taken. It is zero where none led before.
func (m *Member) signedFrom() (from time.Time) {
	if m == nil {
		return from
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.term.Number <= 1 {
		return from
	}
	return m.leader.At.Add(nip98.Age)
}

// pushes is the route of pushes below a base, for a node that follows.
func pushes(base string) front.Route {
	return front.Route{Name: "pushes", Takes: func(r *http.Request) bool {
		below, ok := strings.CutPrefix(r.URL.Path, strings.TrimRight(base, "/"))
		return ok && (strings.HasSuffix(below, "/git-receive-pack") || strings.HasSuffix(below, "/info/refs") && r.URL.Query().Get("service") == "git-receive-pack")
	}}
}

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/graspd/graspd/internal/status"
)

// Nodes that follow tell the one that leads how they stand, and hear how all do.
const (
	nodesPath  = "/nodes" // POST
	tellEvery  = time.Second
	nodesBytes = 256 << 10 // of an answer
)

// tellNodes tells how this node stands, until ctx ends, and then that it has left.
func (m *Member) tellNodes(ctx context.Context) {
	t := time.NewTicker(tellEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			m.tellLeader(ctx)
		case <-ctx.Done():
			m.tellLeft(context.WithoutCancel(ctx))
			return
		}
	}
}

// tellLeader tells the node that leads how this one stands, and takes what that knows of all. One that leads tells those that led before.
func (m *Member) tellLeader(ctx context.Context) {
	s := standing{m: m, leads: m.leads()}.Standing()
	if s.Leads {
		m.tellDeposed(ctx, s)
		return
	}
	if s.LeaderURL == "" || s.LeaderURL == m.URL {
		return
	}
	all, err := m.exchange(ctx, s.LeaderURL, m.self(s), false)
	if err != nil {
		m.logger.Debug("the node that leads does not hear how this one stands", "leader", s.LeaderURL, "error", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes = status.Roster{}
	for _, n := range all {
		m.nodes.Tell(time.Now(), n)
	}
}

// tellDeposed tells nodes that take themselves for the one that leads, as far as is known, that this one does.
func (m *Member) tellDeposed(ctx context.Context, s status.Cluster) {
	for _, n := range s.Nodes {
		if !n.Leads || n.Node == m.URL {
			continue
		}
		if _, err := m.exchange(ctx, n.Node, m.self(s), false); err != nil {
			m.logger.Debug("a node that led does not follow yet", "node", n.Node, "error", err)
		}
	}
}

// tellLeft tells the other nodes, of which one leads, that this one has left. Who does not hear it takes this one for silent until it is forgotten.
func (m *Member) tellLeft(ctx context.Context) {
	ctx, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	s := standing{m: m, leads: m.leads()}.Standing()
	for _, n := range s.Nodes {
		if n.Node == m.URL || n.Silent() {
			continue
		}
		if _, err := m.exchange(ctx, n.Node, m.self(s), true); err != nil {
			m.logger.Debug("another node does not hear that this one leaves", "node", n.Node, "error", err)
		}
	}
}

// self says how this node stands, for others.
func (m *Member) self(s status.Cluster) status.ClusterNode {
	n := status.ClusterNode{Node: m.URL, Version: m.c.Version, Leads: s.Leads, Since: status.Moment{Time: m.since}, Position: s.Position, Behind: s.Behind, Lag: s.Lag, Error: s.Problem()}
	for _, other := range []string{m.Problem(), s.Different()} {
		if n.Error == "" {
			n.Error = other
		}
	}
	return n
}

func (m *Member) exchange(ctx context.Context, to string, own status.ClusterNode, left bool) (all []status.ClusterNode, err error) {
	ctx, end := context.WithTimeout(ctx, 2*callTimeout)
	defer end()
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	values := url.Values{"node": {string(text)}}
	if left {
		values.Set("left", "yes")
	}
	answer, err := m.ask(ctx, http.MethodPost, to+nodesPath, values)
	if err != nil {
		return nil, err
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, nodesBytes)).Decode(&all)
	return all, errors.Join(err, answer.Body.Close())
}

// hearNode hears how another node stands, and answers how all do.
func (m *Member) hearNode(w http.ResponseWriter, r *http.Request) {
	var n status.ClusterNode
	if err := json.Unmarshal([]byte(r.FormValue("node")), &n); err != nil || n.Node == "" {
		http.Error(w, fmt.Sprintf("node is needed: %v", err), http.StatusBadRequest)
		return
	}
	if !m.leads() {
		http.Error(w, "this node does not lead", http.StatusServiceUnavailable)
		return
	}
	n.Told = status.Seconds{}
	m.mu.Lock()
	if r.FormValue("left") != "" {
		m.nodes.Leave(n.Node)
	} else {
		m.nodes.Tell(time.Now(), n)
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(standing{m: m, leads: true}.Standing().Nodes); err != nil {
		m.logger.Debug("a node that follows is gone", "follower", n.Node, "error", err)
	}
}

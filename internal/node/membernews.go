package node

import (
	"time"

	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/status"
)

// news is what a follower has heard of the log, from the node that leads or from the bucket.
type news struct {
	heard time.Time          // when it last heard anything; zero is never
	head  commitlog.Position // the last entry of which it has heard
	level time.Time          // when it last had all of which it had heard
	led   time.Time          // when a node that leads was last heard of
}

// hear notes that the log goes up to a position, where the store has it up to another one.
func (n *news) hear(now time.Time, head, has commitlog.Position) {
	n.heard, n.head = now, max(n.head, head)
	if has >= n.head {
		n.level = now
	}
}

// seen notes that the log goes up to a position, and whether that was heard of a node that leads.
func (m *Member) seen(head commitlog.Position, led bool) {
	has := commitlog.Position(m.store.LogPlace().Position)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.news.hear(now, head, has)
	if led {
		m.news.led = now
	}
}

// standing says how a Node stands among those that share its bucket. One whose member is to lead does not lead yet while it has no Term.
type standing struct {
	m     *Member
	leads bool
	by    *elsewhere // nil where it leads
}

// Standing implements metrics.Cluster.
func (x standing) Standing() status.Cluster {
	m, at := x.m, x.m.store.LogPlace()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := status.Cluster{Node: m.URL, Position: at.Position, Term: at.Term, Leader: m.leader.Host, LeaderURL: m.leader.URL, Since: status.Moment{Time: m.leader.At}, Leads: x.leads, Carried: x.by.carried()}
	now := time.Now()
	if !x.leads {
		s.Follow(now, m.news.heard, m.news.level, uint64(m.news.head))
		s.Unled.Duration = now.Sub(m.news.led)
	}
	m.nodes.Tell(now, m.self(s))
	s.Nodes = m.nodes.Nodes(now)
	return s
}

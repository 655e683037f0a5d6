package node

import (
	"context"
	"time"

	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/serve/relay"
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

// touchEvery is how often a node looks whether it hears of the log.
const touchEvery = 250 * time.Millisecond

// withhold returns what has a relay that follows answer no requests while the member hears neither of the node that leads nor of the bucket.
func (m *Member) withhold(r *relay.Relay) func(context.Context) error {
	return func(ctx context.Context) error {
		t := time.NewTicker(touchEvery)
		defer t.Stop()
		withheld := false
		for {
			select {
			case <-ctx.Done():
				return nil
			case now := <-t.C:
				apart := m.outOfTouch(now)
				switch {
				case apart && !withheld:
					m.logger.Warn("this node hears neither of the node that leads nor of the bucket: it ends subscriptions, and answers no requests")
					r.Withhold(outOfTouch)
				case !apart && withheld:
					m.logger.Info("this node hears of the log again: it answers requests")
					r.Withhold("")
				}
				withheld = apart
			}
		}
	}
}

// outOfTouch is what clients hear of a node that hears of no other one.
const outOfTouch = "error: this node is out of touch with the others, and what it has may be old; connect again, or try again later"

// outOfTouch reports whether the member, which follows, has heard of the log neither from the node that leads nor from the bucket for so long that what
// it has may be old. The bucket answered when it was opened.
func (m *Member) outOfTouch(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.since
	if m.news.heard.After(last) {
		last = m.news.heard
	}
	return now.Sub(last) > status.StaleAfter
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
	s.Differs = append([]string{}, m.differ...)
	now := time.Now()
	if !x.leads {
		s.Follow(now, m.news.heard, m.news.level, uint64(m.news.head))
		s.Unled.Duration = now.Sub(m.news.led)
	}
	m.nodes.Tell(now, m.self(s))
	s.Nodes = m.nodes.Nodes(now)
	return s
}

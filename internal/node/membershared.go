package node

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/nip86"
)

// ownSettings returns the Config of this node, with the settings as they were read last.
func (m *Member) ownSettings() Config {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own
}

// setOwn notes settings that were read just now, and tells in what they differ from those in force.
func (m *Member) setOwn(c Config) {
	m.mu.Lock()
	c.Member, c.Read = nil, m.own.Read
	if len(m.own.shared().differs(c.shared())) > 0 {
		c.Read = m.c.Now()
	}
	m.own = c
	m.mu.Unlock()
	m.compare()
}

// adopt has a Node that follows show and guard by the settings in force, and by its own, which were read just now or before, where each node has its own. It
// fails where those in force are such that the node may serve nobody.
func (m *Member) adopt(n *Node, own Config) error {
	n.said.mu.Lock()
	defer n.said.mu.Unlock()
	m.setOwn(own)
	shared, err := readShared(m.store)
	if err != nil {
		return err
	}
	force, err := shared.over(own)
	if err != nil {
		return err
	}
	s := force.settings()
	info, hold, _ := nip86.Apply(s.Info, n.Changes())
	present, err := n.Relay.Present(n.information(info, s.Lists), s.About, s.MinPoW)
	if err != nil {
		return err
	}
	present()
	n.said.settings = s
	n.said.changes.Store(&hold)
	n.elsewhere.force.Store(&s)
	n.setMembers(s.Members)
	return nil
}

// compare finds in what the settings of this node differ from those in force, and tells.
func (m *Member) compare() {
	force, err := readShared(m.store)
	if err != nil {
		m.logger.Error("the settings in force cannot be read", "error", err)
		return
	}
	var differ []string
	own := m.ownSettings()
	if force != nil {
		differ = force.differs(own.shared())
	}
	m.mu.Lock()
	before := m.differ
	m.differ = differ
	m.mu.Unlock()
	switch {
	case slices.Equal(before, differ):
	case len(differ) > 0:
		m.logger.Warn("settings of this node differ from those in force at all nodes: it serves by those, and does not lead", "setting", strings.Join(differ, " "))
	default:
		m.logger.Info("the settings of this node are those in force at all nodes")
	}
}

// mayLead reports whether the settings of this node allow that it leads.
func (m *Member) mayLead(now time.Time) (bool, error) {
	force, err := readShared(m.store)
	if err != nil {
		return false, err
	}
	own := m.ownSettings()
	m.mu.Lock()
	unled := now.Sub(m.news.led)
	m.mu.Unlock()
	return force.mayLead(own.shared(), own.Read, unled), nil
}

// followShared returns what has a Node that follows serve by the settings in force, as they change. It fails where they are such that the node may serve
// nobody.
func (m *Member) followShared(n *Node) func(context.Context) error {
	return func(ctx context.Context) error {
		for upTo := uint64(0); ; {
			names, next, all, more := m.store.Changes(upTo)
			upTo = next
			if all || slices.Contains(names, sharedRow) {
				if err := m.adopt(n, m.ownSettings()); err != nil {
					return err
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// share has settings come into force at all nodes.
func (t *Term) share(ctx context.Context, s *store.Store, own shared, now time.Time) error {
	was, err := readShared(s)
	if err != nil || was != nil && len(was.differs(own)) == 0 {
		return err
	}
	own.At = now.UTC()
	return t.Door.Exclusively(ctx, "", func(x *ingest.Exclusive) error { return x.SetRow(sharedRow, own.encode()) })
}

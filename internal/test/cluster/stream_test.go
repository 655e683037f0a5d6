package cluster_test

import (
	"time"

	"github.com/graspd/graspd/internal/events/election"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// connect takes the stream of a leader, in place of the one before.
func (l *life) connect(to string) {
	stop := make(chan struct{})
	l.mu.Lock()
	if l.unstream != nil {
		close(l.unstream)
	}
	l.unstream = stop
	l.mu.Unlock()
	l.spawn(func() {
		l.stream(to, stop)
		if l.wait(0, stop) {
			l.send(election.Lost{})
		}
	})
}

// stream brings what a leader writes until something goes wrong. It runs in both processes.
func (l *life) stream(to string, stop chan struct{}) {
	lead := l.w.named(to)
	if lead == nil || !l.travel() || !l.w.carries(l.node.name, to) || !lead.enter() {
		return
	}
	defer lead.all.Done()
	wr := lead.leading()
	if wr == nil {
		return
	}
	defer lead.send(election.FollowerLost{Node: l.node.name})
	lead.send(election.Follower{Node: l.node.name, Position: l.at()})
	for l.frame(lead, wr, stop) {
	}
}

// frame brings an entry, or a sign of life.
func (l *life) frame(lead *life, wr writer, stop chan struct{}) bool {
	if !l.w.carries(l.node.name, lead.node.name) {
		if l.roll(3) == 0 {
			return false // the connection is reset; else it is silent
		}
		return l.wait(500*time.Millisecond, stop) && lead.wait(0, stop)
	}
	if !lead.pass(3000, "before it sends", stop) || !l.pass(3000, "before it hears", stop) || lead.leading() != wr {
		return false
	}
	moved, next := lead.movedC(), l.at()+1
	x, ok := lead.entry(next)
	l.send(election.Heard{Term: wr.term()})
	if ok && l.take(x) {
		lead.send(election.Follower{Node: l.node.name, Position: l.at()})
		return true
	}
	t := time.NewTimer(500 * time.Millisecond)
	defer t.Stop()
	select {
	case <-moved:
	case <-t.C:
	case <-stop:
		return false
	case <-l.dead:
		return false
	case <-lead.dead:
		return false
	}
	return l.wait(l.some(10*time.Millisecond), stop)
}

// entry is what a leader sends: what it has written and shows itself, or read before.
func (l *life) entry(at uint64) (commitlog.Entry, bool) {
	if at > l.at() && !l.w.plant.streamsEarly {
		return commitlog.Entry{}, false
	}
	if x, ok := l.conn.written(at); ok {
		return x, true
	}
	x, err := l.conn.Read(l.w.t.Context(), commitlog.Position(at))
	return x, err == nil
}

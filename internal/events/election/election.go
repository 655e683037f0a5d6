// Package election decides which of the nodes that share a log of commits writes it, and when another one tries to. What a node may write is
// decided by the log alone, so no answer depends on a clock: this package keeps nodes from trying while one of them leads, and has one try soon
// when none does. All types are values. Callers tell the time, and randomness comes from a hash. Read Node.Step first.
package election

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// The times of an election.
const (
	Silence   = 5 * time.Second  // how long a follower hears nothing of the leader, and sees no new entry of the log, before it may try
	Between   = 15 * time.Second // how old a term is at least when a follower tries to end it, unless its leader asked for that
	MaxWait   = 2 * time.Second  // the random wait before a try is shorter
	HeardLast = 2 * time.Second  // a stream that brings nothing for so long is gone
	MaxLeave  = 5 * time.Second  // how long a leader takes at most to leave
)

// The times of what a node asks.
const (
	firstLook  = 250 * time.Millisecond // between two looks at the log after an entry, while no stream brings entries; it doubles
	maxLook    = time.Second
	leaderLook = 5 * time.Second // between two looks of the leader
	reconnect  = 500 * time.Millisecond
	tick       = time.Second     // a node is woken at least that often
	overslept  = time.Second     // who is woken so much later was away
	calledFor  = 5 * time.Second // how long the leader's word holds that this node is to lead
	never      = time.Duration(1<<63 - 1)
)

// Term is a term of the log, as its first entry has it: its number, from 1 on, and the node that began it. The zero Term is before all.
type Term struct {
	Number uint64
	By     string
}

// Role is what a node does.
type Role uint8

// The roles of a node.
const (
	Follows Role = iota // it takes the entries of others
	Tries               // it has put the first entry of a term to the log, and does not know what became of that
	Leads               // it writes
	Leaves              // it led, writes what it has taken, and has another node lead
	Over                // it was deposed, or has left; the process starts anew, or ends
)

// String returns a word for the role.
func (r Role) String() string {
	return [...]string{"follows", "tries", "leads", "leaves", "is over"}[r]
}

// Node is what one node knows of who leads. Make it with New. All its times are since any fixed point.
type Node struct {
	self string
	role Role

	position uint64 // up to where the node has the log
	term     Term   // of the entry there

	now    time.Duration
	wake   time.Duration
	out    []Effect
	since  time.Duration // when the node saw the first entry of the term
	heard  time.Duration // when the leader was heard last; or since when the node has listened, where that is later
	quiet  time.Duration // when the last entry came; or since when the node has looked, where that is later
	proven time.Duration // the last time of which it is known that the log had no entry after position
	tryAt  time.Duration

	streams    bool // the stream of the leader is open
	connecting bool
	connectAt  time.Duration
	looking    bool
	askedAt    time.Duration // when the look that is under way was asked for
	lookAt     time.Duration
	lookEvery  time.Duration

	called   uint64 // the leader wants this node to lead from that position on; 0 is no such word
	calledAt time.Duration

	followers map[string]uint64 // of a leader: up to where they have the log
	leftAt    time.Duration
	calling   string // the follower that was asked to lead
}

// New returns a node that follows, with what its store has of the log. self is the name by which others reach it, which no other node has.
func New(self string, now time.Duration, position uint64, term Term) *Node {
	n := &Node{self: self, position: position, term: term, now: now, wake: now, proven: -1, lookEvery: firstLook}
	n.doubt()
	n.since = now
	return n
}

// Role returns what the node does.
func (n *Node) Role() Role { return n.role }

// Wake returns when the node wants a Tick, unless something else comes before.
func (n *Node) Wake() time.Duration { return n.wake }

// Step takes an input and returns what is to be done, in order. now never goes back.
func (n *Node) Step(now time.Duration, in Input) []Effect {
	n.out = nil
	if n.role == Over {
		return nil
	}
	away := now > n.wake+overslept
	n.now = now
	if away {
		n.doubt()
	}
	in.to(n)
	n.tend()
	return n.out
}

// doubt forgets since when nothing was heard: a process that was away heard nothing because of that, and tells nothing of the leader.
func (n *Node) doubt() {
	n.heard, n.quiet, n.tryAt, n.called = n.now, n.now, never, 0
}

func (n *Node) do(e Effect) { n.out = append(n.out, e) }

// tend does what is due, and finds when the node wakes next.
func (n *Node) tend() {
	n.wake = n.now + tick
	switch n.role {
	case Follows:
		n.tendFollower()
	case Leads:
		n.tendLook()
	case Leaves:
		if n.now-n.leftAt >= MaxLeave {
			n.end(Quit{})
		}
		n.wakeBy(n.leftAt + MaxLeave)
	}
	if n.role == Over {
		n.wake = never
	}
}

func (n *Node) wakeBy(at time.Duration) { n.wake = max(n.now, min(n.wake, at)) }

// tendLook asks for a look at the log once that is due.
func (n *Node) tendLook() {
	if n.looking {
		return
	}
	if n.now >= n.lookAt {
		n.looking, n.askedAt = true, n.now
		n.do(Look{})
		return
	}
	n.wakeBy(n.lookAt)
}

// looked plans the next look.
func (n *Node) looked() {
	n.looking = false
	if n.role == Leads {
		n.lookAt = n.now + leaderLook
		return
	}
	n.lookAt = n.now + n.lookEvery
	n.lookEvery = min(2*n.lookEvery, maxLook)
}

// end has the node do nothing more.
func (n *Node) end(last Effect) {
	n.role = Over
	n.do(last)
}

// wait is the random wait before a try, another one for each node, term and position.
func (n *Node) wait() time.Duration {
	b := binary.BigEndian.AppendUint64([]byte(n.self), n.term.Number)
	h := sha256.Sum256(binary.BigEndian.AppendUint64(b, n.position))
	return time.Duration(binary.BigEndian.Uint64(h[:]) % uint64(MaxWait))
}

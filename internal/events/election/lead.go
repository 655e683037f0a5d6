package election

import (
	"maps"
	"slices"
)

// leads begins a term of this node's own.
func (n *Node) leads(position uint64, number uint64) {
	n.role, n.position, n.term, n.since = Leads, position, Term{number, n.self}, n.now
	n.streams, n.connecting, n.followers = false, false, map[string]uint64{}
	n.looked()
}

// leave has a leader end its term, and any other node end at once.
func (n *Node) leave() {
	switch n.role {
	case Leads:
		n.role, n.leftAt = Leaves, n.now
		n.do(Drain{})
	case Leaves:
	default:
		n.end(Quit{})
	}
}

// callNext asks the follower to lead that has most of the log. Where there is none the leader is done.
func (n *Node) callNext() {
	n.calling = ""
	for _, name := range slices.Sorted(maps.Keys(n.followers)) {
		if n.calling == "" || n.followers[name] > n.followers[n.calling] {
			n.calling = name
		}
	}
	if n.calling == "" {
		n.end(Quit{})
		return
	}
	n.do(Call{n.calling, n.position})
}

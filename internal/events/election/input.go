package election

// Input is something that has happened.
type Input interface{ to(*Node) }

// Tick says that time has passed; see Node.Wake.
type Tick struct{}

// Applied says that the node has taken entries of the log, of its own or of others, and has it up to Position, which is of Term.
type Applied struct {
	Position uint64
	Term     Term
}

// Heard says that the leader of a term has said something over its stream.
type Heard struct{ Term uint64 }

// Later says to a leader that another node knows of a later term.
type Later struct{}

// Lost says that the stream of the leader has ended, or that Connect did not bring one about.
type Lost struct{}

// Ended says that a Look found no entry after Position.
type Ended struct{ Position uint64 }

// Unseen says that a Look did not find out what the log has.
type Unseen struct{}

// Led says that a Lead has begun a term, with the entry at Position.
type Led struct{ Position, Term uint64 }

// NotLed says that another node has written what a Lead wanted to write.
type NotLed struct{}

// Deposed says that another node has written the log: an append was refused, or a Look of the leader found an entry of a later term.
type Deposed struct{}

// Follower says up to where a node has the log that takes this one's stream.
type Follower struct {
	Node     string
	Position uint64
}

// FollowerLost says that a node takes the stream no more.
type FollowerLost struct{ Node string }

// Called says that the leader leaves, and wants this node to lead once it has the log up to Position.
type Called struct{ Position uint64 }

// Stop says that the process is to end.
type Stop struct{}

// Drained says that the leader takes nothing more, and that all that it took is in the log, which ends at Position.
type Drained struct{ Position uint64 }

// HandedOver says whether the node leads that was asked to by Call.
type HandedOver struct{ OK bool }

func (Tick) to(*Node) {}

func (x Applied) to(n *Node) { n.took(x.Position, x.Term) }

func (x Heard) to(n *Node) {
	if x.Term < n.term.Number || n.role != Follows {
		return
	}
	n.heard, n.tryAt, n.streams, n.connecting = n.now, never, true, false
}

func (Later) to(n *Node) { n.lookAt = min(n.lookAt, n.now) }

func (Lost) to(n *Node) {
	n.streams, n.connecting, n.connectAt = false, false, n.now+reconnect
}

func (x Ended) to(n *Node) {
	n.looked()
	if x.Position == n.position {
		n.proven = n.askedAt
	}
}

func (Unseen) to(n *Node) { n.looked() }

func (x Led) to(n *Node) {
	if n.role == Tries {
		n.leads(x.Position, x.Term)
	}
}

func (NotLed) to(n *Node) {
	if n.role != Tries {
		return
	}
	n.role = Follows
	n.doubt()
	n.lookAt = n.now
}

func (Deposed) to(n *Node) {
	switch n.role {
	case Leads:
		n.end(Restart{})
	case Leaves:
		n.end(Quit{})
	}
}

func (x Follower) to(n *Node) {
	if n.role == Leads || n.role == Leaves {
		n.followers[x.Node] = max(n.followers[x.Node], x.Position)
	}
}

func (x FollowerLost) to(n *Node) { delete(n.followers, x.Node) }

func (x Called) to(n *Node) {
	if n.role == Follows {
		n.called, n.calledAt = x.Position, n.now
		n.lookAt = min(n.lookAt, n.now)
	}
}

func (Stop) to(n *Node) { n.leave() }

func (x Drained) to(n *Node) {
	if n.role == Leaves {
		n.position = max(n.position, x.Position)
		n.callNext()
	}
}

func (x HandedOver) to(n *Node) {
	switch {
	case n.role != Leaves:
	case x.OK:
		n.end(Quit{})
	default:
		delete(n.followers, n.calling)
		n.callNext()
	}
}

package election

// tendFollower keeps a follower in touch with the leader, and has it try once nobody leads.
func (n *Node) tendFollower() {
	if n.streams && n.now-n.heard >= HeardLast {
		n.streams = false
	}
	if n.streams {
		n.wakeBy(n.heard + HeardLast)
	} else {
		n.tendConnect()
	}
	if !n.streams || n.called > 0 {
		n.tendLook()
	}
	n.tendTry()
}

func (n *Node) tendConnect() {
	if n.connecting || n.term.By == "" || n.term.By == n.self {
		return
	}
	if n.now >= n.connectAt {
		n.connecting = true
		n.do(Connect{n.term.By})
		return
	}
	n.wakeBy(n.connectAt)
}

func (n *Node) tendTry() {
	switch {
	case n.isCalled(), n.resumes():
		n.try()
		return
	case !n.vacant():
		n.tryAt = never
		return
	case n.tryAt == never:
		n.tryAt = n.now + n.wait()
	}
	if n.now >= n.tryAt {
		n.try()
		return
	}
	n.wakeBy(n.tryAt)
}

// isCalled reports whether the leader leaves and wants this node to lead, which has all that the leader has written. Where somebody has written
// more, another node leads already.
func (n *Node) isCalled() bool {
	if n.now-n.calledAt >= calledFor || n.position > n.called {
		n.called = 0
	}
	return n.called > 0 && n.position == n.called
}

// resumes reports whether this node itself led last, in an earlier life, which nobody else can have ended unseen: the log has nothing more.
func (n *Node) resumes() bool { return n.term.By == n.self && n.proven >= n.quiet }

// vacant reports whether nobody leads, as far as a follower can know: it has no stream, and heard nothing for a while; it has all that the log
// has; and the log got nothing for a while. Where terms have just changed it waits, as others may have heard what this node has not.
func (n *Node) vacant() bool {
	return !n.streams && n.now-n.heard >= Silence &&
		n.proven-n.quiet >= Silence && n.now-n.proven <= Silence &&
		(n.term == Term{} || n.now-n.since >= Between)
}

func (n *Node) try() {
	n.role, n.called, n.tryAt = Tries, 0, never
	n.do(Lead{n.position})
}

// took notes that the node has taken an entry.
func (n *Node) took(position uint64, t Term) {
	if position <= n.position {
		return
	}
	n.position, n.quiet, n.tryAt, n.lookEvery = position, n.now, never, firstLook
	if t == n.term {
		return
	}
	n.term, n.since, n.heard = t, n.now, n.now
	n.streams, n.connecting, n.connectAt = false, false, n.now
}

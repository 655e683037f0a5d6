package plan

// Some relays reconcile only their newest events and do not say so. A window
// in which a relay showed many events is therefore probed below the oldest one.

// leastProbed is how many events a relay must have shown for that.
const leastProbed = 100

// probeLimit is how many events a probe asks for.
const probeLimit = 5

// probe asks for anything below what the relay showed, pages that part if the
// relay is known to hide it, or goes on.
func (p *Peer) probe(t *task) {
	n := t.neg
	w := n.window()
	below := span{w.since, n.oldestShown() - 1}
	switch {
	case n.shown == 0 || below.until < below.since:
	case p.neg == negTruncates:
		n.next()
		below.until++
		t.pager = newPager(below)
		p.askPage(t)
		return
	case n.shown >= leastProbed:
		f := below.narrow(t.filter)
		f.Limit = new(probeLimit)
		p.request(t, asksProbe, f)
		return
	}
	n.next()
	p.reconcile(t)
}

// probed takes the answer: any event there that was not shown proves that the
// relay cuts.
func (p *Peer) probed(t *task, r *request) {
	if r.proofs == 0 {
		t.neg.next()
		return
	}
	if p.neg != negTruncates {
		p.neg = negTruncates
		p.report(Info, "relay reconciles its newest events only, the rest is paged")
	}
}

// next goes on to the next window.
func (n *reconciliation) next() {
	n.windows = n.windows[:len(n.windows)-1]
	n.probe, n.oldest, n.set, n.values, n.init, n.have = false, 0, nil, nil, nil, nil
}

// oldestShown returns the creation time of the oldest event in the window that
// the relay has, as far as it showed.
func (n *reconciliation) oldestShown() int64 {
	for i := range n.set.Len() {
		x := n.set.At(i)
		if _, lacks := n.have[x.ID]; lacks {
			continue
		}
		if n.oldest == 0 || int64(x.Time) < n.oldest {
			return int64(x.Time)
		}
		break
	}
	return n.oldest
}

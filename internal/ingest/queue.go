package ingest

import "github.com/graspd/graspd/internal/policy"

// offerCheck gives the source a turn at the verifiers, unless it has one. The caller holds mu.
func (d *Door) offerCheck(s *Source) {
	if s.checkTurn || s.unchecked.Len() == 0 {
		return
	}
	s.checkTurn = true
	d.toCheck.push(s)
	d.work.Signal()
}

// takeUnchecked waits for the next item to verify and gives nil when the door stops. The source is offered again at
// once, so that a single one can keep every verifier busy.
func (d *Door) takeUnchecked() *item {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.stopped {
		if s := d.toCheck.pop(false); s != nil {
			s.checkTurn = false
			it := s.unchecked.Pop()
			d.offerCheck(s)
			if it != nil {
				return it
			}
			continue
		}
		d.work.Wait()
	}
	return nil
}

// recheck returns an item to its source, to be verified for itself before what was submitted after it. The caller
// holds mu.
func (d *Door) recheck(it *item) {
	it.alone = true
	it.src.unchecked.PushFront(it)
	d.offerCheck(it.src)
}

// finish hands the item to the writer, which gets it when all before it in its source are ready too. The caller holds mu.
func (d *Door) finish(it *item) {
	it.ready = true
	d.offerDecision(it.src)
}

// settle finishes an item whose verdict needs no decision. The caller holds mu.
func (d *Door) settle(it *item, v policy.Verdict) {
	it.settled, it.verdict = true, v
	d.finish(it)
}

func (d *Door) offerDecision(s *Source) {
	if s.readyTurn || s.order.Len() == 0 || !s.order.Peek().ready {
		return
	}
	s.readyTurn = true
	d.toDecide.push(s)
	d.nudge()
}

// takeReady is the next item to decide, or nil. With onlyBeside it gives those of the sync engine only beside direct ones.
func (d *Door) takeReady(onlyBeside bool) *item {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.toDecide.pop(onlyBeside)
	if s == nil {
		return nil
	}
	s.readyTurn = false
	it := s.order.Pop()
	d.coming--
	d.offerDecision(s)
	return it
}

// putBack gives an item back that takeReady gave, to be taken again in its source's next turn.
func (d *Door) putBack(it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	it.src.order.PushFront(it)
	d.coming++
	d.offerDecision(it.src)
}

// quiet reports whether nothing is on its way to the writer.
func (d *Door) quiet() bool { return d.waiting() == 0 }

// waiting is how many events are on their way to the writer.
func (d *Door) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.coming
}

// directReady reports whether an item of a client is ready.
func (d *Door) directReady() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.toDecide.direct.len() > 0
}

// abandon settles what no verifier has taken yet of a source. The caller holds mu.
func (d *Door) abandon(s *Source, v policy.Verdict) {
	for s.unchecked.Len() > 0 {
		d.settle(s.unchecked.Pop(), v)
	}
}

// abandonAll settles whatever is not verified. It is for the time after the verifiers have ended.
func (d *Door) abandonAll(v policy.Verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := d.toCheck.pop(false); s != nil; s = d.toCheck.pop(false) {
		s.checkTurn = false
		d.abandon(s, v)
	}
}

// answered frees the places of items whose replies were called.
func (d *Door) answered(items []answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range items {
		a.item.src.answered(a.item)
	}
}

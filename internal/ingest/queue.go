package ingest

import "github.com/graspd/graspd/internal/policy"

// offerCheck queues the source for the verifiers, unless it is queued or has nothing for them. The caller holds mu.
func (d *Door) offerCheck(s *Source) {
	if s.inToCheck || s.unchecked.Len() == 0 {
		return
	}
	s.inToCheck = true
	d.toCheck.push(s)
	d.work.Signal()
}

// takeUnchecked waits for the next item to verify, and gives nil when the door stops. It queues the item's source again at once, so that a
// single source can keep every verifier busy.
func (d *Door) takeUnchecked() *item {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.stopped {
		if s := d.toCheck.pop(false); s != nil {
			s.inToCheck = false
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

// recheck returns an item to its source, to be verified alone and before what was submitted after it. The caller holds mu.
func (d *Door) recheck(it *item) {
	it.alone = true
	it.src.unchecked.PushFront(it)
	d.offerCheck(it.src)
}

// finish makes the item ready for the writer, which takes it after all items before it in its source. The caller holds mu.
func (d *Door) finish(it *item) {
	it.ready = true
	d.offerDecision(it.src)
}

// finishWith finishes an item whose verdict stands already, so that the writer decides nothing. The caller holds mu.
func (d *Door) finishWith(it *item, v policy.Verdict) {
	it.stands, it.verdict = true, v
	d.finish(it)
}

// offerDecision queues the source for the writer, unless it is queued or its first item is not ready. The caller holds mu.
func (d *Door) offerDecision(s *Source) {
	if s.inToDecide || s.order.Len() == 0 || !s.order.Peek().ready {
		return
	}
	s.inToDecide = true
	d.toDecide.push(s)
	d.nudge()
}

// takeReady takes the next item to decide; nil means that none is ready. With onlyBeside, items of the sync engine have only their turns
// between clients' items, and none when no client's item is ready.
func (d *Door) takeReady(onlyBeside bool) *item {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.toDecide.pop(onlyBeside)
	if s == nil {
		return nil
	}
	s.inToDecide = false
	it := s.order.Pop()
	d.coming--
	d.offerDecision(s)
	return it
}

// putBack returns an item that takeReady gave, to be taken again in its source's next turn.
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

// abandon gives the verdict v to all items of a source that no verifier has taken. The caller holds mu.
func (d *Door) abandon(s *Source, v policy.Verdict) {
	for s.unchecked.Len() > 0 {
		d.finishWith(s.unchecked.Pop(), v)
	}
}

// abandonAll gives the verdict v to all items that are not verified. The verifiers must have ended.
func (d *Door) abandonAll(v policy.Verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := d.toCheck.pop(false); s != nil; s = d.toCheck.pop(false) {
		s.inToCheck = false
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

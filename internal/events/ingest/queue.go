package ingest

import "github.com/graspd/graspd/internal/events/policy"

// offerCheck queues the source for the verifiers, unless it is queued already or has nothing for them. The caller holds mu.
func (d *Door) offerCheck(s *Source) {
	if s.inToCheck || s.unchecked.Len() == 0 {
		return
	}
	s.inToCheck = true
	d.toCheck.push(s)
	d.work.Signal()
}

// takeUnchecked waits for the next item to verify, and returns nil when the door stops. It queues the item's source again at once, so that
// a single source can keep all verifiers busy.
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

// recheck returns an item to its source, to be verified alone, before items that were submitted later. The caller holds mu.
func (d *Door) recheck(it *item) {
	it.alone = true
	it.src.unchecked.PushFront(it)
	d.offerCheck(it.src)
}

// finish makes the item ready for the writer, which takes it after all earlier items of its source. The caller holds mu.
func (d *Door) finish(it *item) {
	it.ready = true
	d.offerDecision(it.src)
}

// finishWith finishes an item with the verdict v, so that the writer decides nothing. The caller holds mu.
func (d *Door) finishWith(it *item, v policy.Verdict) {
	it.stands, it.verdict = true, v
	d.finish(it)
}

// offerDecision queues the source for the writer, unless it is queued already or its first item is not ready. The caller holds mu.
func (d *Door) offerDecision(s *Source) {
	if s.inToDecide || s.order.Len() == 0 || !s.order.Peek().ready {
		return
	}
	s.inToDecide = true
	d.toDecide.push(s)
	d.nudge()
}

// takeReady takes the next item to decide; nil if none is ready. With onlyBeside, items of the sync engine get only their turns between
// clients' items, and none while no client's item is ready.
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

// putBack returns an item from takeReady, which the writer takes again in the next turn of the item's source.
func (d *Door) putBack(it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	it.src.order.PushFront(it)
	d.coming++
	d.offerDecision(it.src)
}

// quiet reports whether nothing is on its way to the writer.
func (d *Door) quiet() bool { return d.waiting() == 0 }

// waiting returns how many events are on their way to the writer.
func (d *Door) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.coming
}

// directReady reports whether an item of a client is ready.
func (d *Door) directReady() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.toDecide.direct.Parties()) > 0
}

// abandon finishes all items of a source that no verifier has taken with the verdict v. The caller holds mu.
func (d *Door) abandon(s *Source, v policy.Verdict) {
	for s.unchecked.Len() > 0 {
		d.finishWith(s.unchecked.Pop(), v)
	}
}

// abandonAll finishes all items that are not verified with the verdict v. The verifiers must have ended.
func (d *Door) abandonAll(v policy.Verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := d.toCheck.pop(false); s != nil; s = d.toCheck.pop(false) {
		s.inToCheck = false
		d.abandon(s, v)
	}
}

// answered frees the places of items whose replies the writer has called.
func (d *Door) answered(items []answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range items {
		a.item.src.answered(a.item)
	}
}

package ingest

import "github.com/graspd/graspd/internal/nostr"

// proof is what is known of an id between its first copy and the commit of its decision, and for as long as it is in
// the orphan buffer: one copy is verified, and the others take what that gives.
type proof struct {
	event   *nostr.Event // the genuine event; nil while the leader is being verified
	leader  *item
	waiting []*item // copies that arrived meanwhile
}

// follow joins an item to an earlier copy of its id: it gives the genuine event where one is known, or reports that
// the item now waits for the copy that is being verified. With lead, the item becomes that copy where there is none.
func (d *Door) follow(it *item, lead bool) (genuine *nostr.Event, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.copies[it.event.ID]
	switch {
	case p == nil:
		if lead {
			d.copies[it.event.ID] = &proof{leader: it}
		}
		return nil, false
	case p.event != nil:
		return p.event, false
	case it.alone:
		return nil, false
	}
	p.waiting = append(p.waiting, it)
	return nil, true
}

// proved hands a verified item to the writer and keeps its event for the copies; it gives those that wait for it. That
// is one step: no copy that takes the event is ready before the one that brought it.
func (d *Door) proved(it *item) []*item {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finish(it)
	p := d.copies[it.event.ID]
	if p == nil {
		p = &proof{}
		d.copies[it.event.ID] = p
	}
	if p.event != nil {
		return nil
	}
	p.event = it.event
	waiting := p.waiting
	p.waiting, p.leader = nil, nil
	return waiting
}

// forged ends what an id's leader had led: each copy that waited is verified for itself, in its own source's turn, so
// that no number of forgeries holds up the genuine one.
func (d *Door) forged(it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.copies[it.event.ID]
	if p == nil || p.leader != it {
		return
	}
	delete(d.copies, it.event.ID)
	for i := len(p.waiting) - 1; i >= 0; i-- {
		d.recheck(p.waiting[i])
	}
}

// forgetCopies drops what was kept of ids that the store knows now, or that were turned down without being remembered.
func (d *Door) forgetCopies(ids []nostr.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if p := d.copies[id]; p != nil && p.event != nil {
			delete(d.copies, id)
		}
	}
}

package ingest

import "github.com/graspd/graspd/internal/protocol/nostr"

// sameID holds the copies of one id, from the first copy to the commit of its decision, and for as long as its event is in the orphan
// buffer. A verifier verifies one copy, the leader; the others then take the event of the leader.
type sameID struct {
	event   *nostr.Event // the genuine event; nil while the leader is being verified
	leader  *item
	waiting []*item // copies that arrived while the leader is being verified
}

// follow joins an item to an earlier copy of its id. It returns the genuine event where that is known, or reports that the item now waits
// for the leader. With lead, the item becomes the leader if there is none.
func (d *Door) follow(it *item, lead bool) (genuine *nostr.Event, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.copies[it.event.ID]
	switch {
	case p == nil:
		if lead {
			d.copies[it.event.ID] = &sameID{leader: it}
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

// verified hands a verified item to the writer, keeps its event for later copies, and returns the copies that waited for the item. All that
// happens under one lock, so that no copy is ready before the item whose event it takes.
func (d *Door) verified(it *item) []*item {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finish(it)
	p := d.copies[it.event.ID]
	if p == nil {
		p = &sameID{}
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

// forged deposes a leader that is no genuine event. Each copy that waited for it is then verified alone, in the turn of its own source, so
// that no number of forgeries holds up the genuine copy.
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

// forgetCopies drops the copies of ids that are decided: the store knows these ids now, or the verdict leaves no trace.
func (d *Door) forgetCopies(ids []nostr.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if p := d.copies[id]; p != nil && p.event != nil {
			delete(d.copies, id)
		}
	}
}

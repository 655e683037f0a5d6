package peer

import (
	"time"

	"github.com/graspd/graspd/internal/sync/want"
)

// A relay that is wanted for nothing but the mailboxes of people who take part (GRASP-03) is visited: connected to once per full resync, asked
// in layer 4, and left.

// dialAt is when the relay may be dialed. One that is only visited is so when it has something to be asked.
func (p *Peer) dialAt() time.Duration {
	if p.want.OnlyMailbox() {
		return max(p.dialing.At(), p.references.inquiry.At())
	}
	return p.dialing.At()
}

// becomeIndex has layer 4 asked at once, where it never was, of a relay that is to tell lists of relays from now on: on a fresh start
// nobody takes part yet, and what an index tells leads to all else.
func (r *references) becomeIndex(old *want.Want) {
	is := func(w *want.Want) bool { return w.Mailbox != nil && len(w.Mailbox.Index) > 0 }
	if old != nil && !is(old) && is(r.want) && !r.inquiry.Begun() {
		r.inquiry.Soon(r.now.Mono)
	}
}

// tendVisit leaves a relay that was asked for all that it is wanted for.
func (p *Peer) tendVisit() {
	c := p.conn
	if !p.want.OnlyMailbox() || p.references.inquiry.Active() || p.references.inquiry.Due(p.now.Mono) || len(c.running) > 0 {
		return
	}
	p.effect(HangUp{Reason: "asked for all"})
	p.suspects.end()
	p.comparing.end()
	p.references.end()
	p.close(phaseWaiting)
	p.dialing.Visited(p.now)
}

// wantAnnouncements adds the item of layer 1 where it is wanted, as it is of every relay but those that are only visited, and takes
// it back. old is nil at first.
func (s *itemState) wantAnnouncements(old *want.Want) (add, sub bool) {
	had, has := old != nil && !old.OnlyMailbox(), !s.want.OnlyMailbox()
	return has && !had, had && !has
}

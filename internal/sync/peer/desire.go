package peer

import (
	"github.com/graspd/graspd/internal/sync/want"
)

// setWant takes a new Want and works out what changed, page by page.
func (p *Peer) setWant(w *want.Want) {
	p.dialing.NoteOwners(p.now, p.want)
	if w == nil {
		p.leave()
		return
	}
	old := p.want
	p.want = w
	p.dialing.Revive(p.now, w, p.conn != nil)
	add := func(it want.Item) {
		if p.wanted.Add(it) && p.conn != nil {
			p.conn.planner.Queue(p.conn.lotOf(it))
		}
	}
	sub := func(it want.Item) {
		if p.wanted.Sub(it) {
			p.confirmed.Drop(it)
			p.proven.Drop(it)
			p.unproven.Drop(it)
			p.held.Drop(it)
			p.suspects.under.Drop(it)
			if p.conn != nil {
				p.conn.planner.Unwanted(it)
			}
		}
	}
	switch first, last := p.wantAnnouncements(old); {
	case first:
		add(want.Announcements)
	case last:
		sub(want.Announcements)
	}
	want.Diff(old, w, add, sub)
	p.references.becomeIndex(old)
	if old != nil && p.conn != nil {
		p.want.Roused(old, func(it want.Item) {
			if p.wanted.Has(it) {
				p.conn.planner.Touch(it)
			}
		})
	}
	if !w.SameRepositories(old) {
		p.coverage.Want(w)
	}
}

// reconsider asks for everything again, since what was refused before may be taken now. That it was not taken live is no gap.
func (p *Peer) reconsider() {
	p.unprove()
	if p.conn == nil {
		p.unconfirm()
		p.hasMark = false
		return
	}
	p.conn.followed.Restart(p.now.Wall.Unix())
	p.references.inquiry.Soon(p.now.Mono)
	p.recatch(Catchup)
}

// leave ends the connection of a relay that is wanted no more. The backoff
// stays, so that a want that comes and goes does not make for a dial each time.
func (p *Peer) leave() {
	if p.phase == phaseOpen || p.phase == phaseDialing {
		p.effect(HangUp{Reason: "no longer needed"})
	}
	p.close(phaseIdle)
	p.itemState = itemState{askedBefore: p.askedBefore}
	p.suspects.forget()
	p.comparing.end()
	p.references.forget()
	p.coverage.Forget()
}

// retry has a relay that waits tried at once.
func (p *Peer) retry() {
	p.dialing.Retry(p.now, p.phase == phaseWaiting)
	if p.want.OnlyMailbox() && p.conn == nil {
		p.references.inquiry.Soon(p.now.Mono)
	}
}

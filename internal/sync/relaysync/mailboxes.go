package relaysync

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/slots"
	"github.com/graspd/graspd/internal/sync/want"
)

// newMailboxes returns an empty fold of participants' mailboxes. It returns nil where the operator has turned mailboxes off, and for a
// private service, as the relays of its participants are no members' relays.
func newMailboxes(c Config) *mailbox.Fold {
	if c.Guard != nil || !c.Peer.Mailboxes {
		return nil
	}
	return mailbox.New(c.Service, c.Index, policy.Partakes, mailbox.Bounds{})
}

// fold takes one event that came into the feed.
func (e *Engine) fold(ev *nostr.Event) {
	e.desired.Add(ev)
	if e.mailboxes != nil {
		e.mailboxes.Add(ev)
	}
}

// unfold takes back one event that left the feed.
func (e *Engine) unfold(id nostr.ID) {
	e.desired.Remove(id)
	if e.mailboxes != nil {
		e.mailboxes.Remove(id)
	}
}

// stored returns the kinds of which foldStored reads all stored events.
func (e *Engine) stored() []nostr.Kind {
	kinds := want.Kinds()
	if e.mailboxes != nil {
		kinds = append(kinds, nostr.KindRelayList)
	}
	return kinds
}

// handMailboxes gives every relay its new Mailbox. Run calls it every CheckEvery only: nothing about mailboxes is urgent, and with many
// participants it takes a while.
func (e *Engine) handMailboxes() {
	if e.mailboxes == nil {
		return
	}
	for u, m := range e.mailboxes.Changed() {
		w := e.wants[u]
		if w == nil {
			w = want.Nothing()
		}
		e.hand(u, w.WithMailbox(m))
	}
}

// hand gives a relay its new Want. A relay without a peer gets the Want with its slot.
func (e *Engine) hand(u grasp.RelayURL, w *want.Want) {
	e.wants[u] = w
	if p := e.peers[u]; p != nil {
		p.want(w)
	}
}

// mailboxOf returns the Mailbox of a relay; nil where graspd asks the relay for nothing on behalf of participants.
func (e *Engine) mailboxOf(u grasp.RelayURL) *mailbox.Mailbox {
	if w := e.wants[u]; w != nil {
		return w.Mailbox
	}
	return nil
}

// mailboxCandidate completes the candidate of a relay that is only a mailbox. Such a relay is a candidate only while it has a slot, or when
// a visit is due. Index relays go first, as their lists lead to the other relays.
func (e *Engine) mailboxCandidate(c slots.Candidate, w *want.Want, past history.Record) (slots.Candidate, bool) {
	c.Mailbox, c.Last, c.Use = true, past.At, slots.Trying
	if len(w.Mailbox.Index) > 0 {
		c.Owners = 1
	}
	c.HasSlot = e.peers[c.URL] != nil
	return c, c.HasSlot || past.VisitDue(e.cfg.Peer.Backoff(), e.cfg.Peer.Resync, e.cfg.Now().Wall)
}

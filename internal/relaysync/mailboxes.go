package relaysync

import (
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/mailbox"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/slots"
	"github.com/graspd/graspd/internal/want"
)

// newMailboxes returns an empty fold of participants' mailboxes; nil where none are asked, and of a private service, whose participants'
// relays are no members'.
func newMailboxes(c Config) *mailbox.Fold {
	if c.Guard != nil || !c.Peer.Mailboxes {
		return nil
	}
	return mailbox.New(c.Service, c.Index, policy.Partakes, mailbox.Bounds{})
}

// fold takes one accepted event.
func (e *Engine) fold(ev *nostr.Event) {
	e.desired.Add(ev)
	if e.mailboxes != nil {
		e.mailboxes.Add(ev)
	}
}

// unfold takes one back.
func (e *Engine) unfold(id nostr.ID) {
	e.desired.Remove(id)
	if e.mailboxes != nil {
		e.mailboxes.Remove(id)
	}
}

// stored are the kinds of which all that is stored is read at the start.
func (e *Engine) stored() []nostr.Kind {
	kinds := want.Kinds()
	if e.mailboxes != nil {
		kinds = append(kinds, nostr.KindRelayList)
	}
	return kinds
}

// shareMailboxes gives every relay what is to be asked of it now on behalf of participants. That is done once in a while only: nothing
// about it is urgent, and with many participants it costs something.
func (e *Engine) shareMailboxes() {
	if e.mailboxes == nil {
		return
	}
	for u, s := range e.mailboxes.Changed() {
		w := e.wants[u]
		if w == nil {
			w = want.Nothing()
		}
		e.hand(u, w.WithMailbox(s))
	}
}

// hand gives a relay its new Want.
func (e *Engine) hand(u grasp.RelayURL, w *want.Want) {
	e.wants[u] = w
	if p := e.peers[u]; p != nil {
		p.want(w)
	}
}

// mailboxOf is what the relay is wanted for on behalf of participants.
func (e *Engine) mailboxOf(u grasp.RelayURL) *mailbox.Share {
	if w := e.wants[u]; w != nil {
		return w.Mailbox
	}
	return nil
}

// visit is the claim of a relay that is only a mailbox, which it makes while it is connected to or has something to be asked. Index
// relays go first, as what they tell leads to the others.
func (e *Engine) visit(c slots.Claim, w *want.Want, past plan.Record) (slots.Claim, bool) {
	c.Mailbox, c.Last, c.Use = true, past.At, slots.Trying
	if len(w.Mailbox.Index) > 0 {
		c.Owners = 1
	}
	c.Held = e.peers[c.URL] != nil
	return c, c.Held || past.VisitDue(e.cfg.Peer, e.cfg.Now().Wall)
}

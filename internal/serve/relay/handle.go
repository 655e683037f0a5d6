package relay

import (
	"cmp"
	"context"
	"errors"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// handle does what a frame asks. It answers a bad frame, and returns no error; an error ends the session.
func (s *session) handle(work context.Context, in *incoming, frame []byte) error {
	event := mayBeEvent(frame)
	if !event {
		if err := s.pay.pace(work); err != nil {
			return err
		}
	}
	msg, refusal, err := s.understand(work, in, frame)
	if m, ok := msg.(nostr.EventMsg); ok {
		return s.publish(work, m.Event)
	}
	if event {
		if err := s.pay.pace(work); err != nil {
			return err
		}
	}
	if err != nil {
		if bad, ok := errors.AsType[*nostr.MessageError](err); ok {
			return s.malformed(work, bad)
		}
		return s.out.reply(work, nostr.AppendNotice(nil, "invalid: not understood"))
	}
	if reply, refused := refuseOutside(msg, cmp.Or(s.outside(), s.relay.withholds())); refused {
		return s.out.reply(work, reply)
	}
	switch m := msg.(type) {
	case nostr.Req:
		if refusal != "" {
			return s.out.reply(work, nostr.AppendClosed(nil, m.Sub, refusal))
		}
	case nostr.Close:
		s.closeSubscription(m.Sub)
	case nostr.Count:
		return s.count(work, m)
	case nostr.Auth:
		return s.authenticate(work, m.Event)
	case nostr.NegOpen:
		return s.negOpen(work, m)
	case nostr.NegMsg:
		return s.negMsg(work, m)
	case nostr.NegClose:
		s.relay.reconciles.drop(s, m.Sub)
	}
	return nil
}

// understand parses a frame, and opens the subscription of a REQ, in the place of one with the same id, or says why not: then the old one ends
// too, as after CLOSED nothing is open under the id. A frame of more than freeBytes waits for a turn. understand charges the values of filters as
// work, and gives the frame's memory back.
func (s *session) understand(work context.Context, in *incoming, frame []byte) (msg any, refusal string, err error) {
	defer in.end()
	turn := newTurn(s.relay.pools.turns, s.pay)
	defer turn.giveBack()
	if len(frame) > freeBytes {
		if err := turn.take(work); err != nil {
			return nil, "", err
		}
	}
	msg, err = nostr.ParseClient(frame)
	switch m := msg.(type) {
	case nostr.Req:
		s.pay.chargeValues(m.Filters...)
		if cmp.Or(s.outside(), s.relay.withholds()) == "" {
			refusal = s.request(m, len(frame), turn)
		}
	case nostr.Count:
		s.pay.chargeValues(m.Filters...)
	case nostr.NegOpen:
		s.pay.chargeValues(m.Filter)
	}
	return msg, refusal, err
}

// request opens the subscription of a REQ, or says why not. It gives the turn back before whatever waits.
func (s *session) request(req nostr.Req, size int, t *turn) (refusal string) {
	limits, sub := s.relay.limits, (*subscription)(nil)
	if refusal = cmp.Or(limits.refuseSub(req.Sub), limits.refuseFilters(req.Filters)); refusal == "" {
		sub = s.newSubscription(req, size)
	}
	t.giveBack()
	s.closeSubscription(req.Sub)
	if refusal != "" {
		return refusal
	}
	refusal = s.openSubscription(sub)
	if reason := s.relay.withholds(); refusal == "" && reason != "" && s.drop(sub) { // Withhold may have run in between
		return reason
	}
	return refusal
}

// malformed answers a frame that is no message, by its verb. A bad REQ ends the subscription, and a bad NEG-OPEN or NEG-MSG the
// reconciliation, that its id names.
func (s *session) malformed(work context.Context, bad *nostr.MessageError) error {
	switch {
	case bad.HasID && (bad.Verb == "EVENT" || bad.Verb == "AUTH"):
		return s.out.answerNow(work, bad.ID, bad.Reason)
	case bad.Verb == "REQ":
		s.closeSubscription(bad.Sub)
	case bad.Verb == "NEG-OPEN" || bad.Verb == "NEG-MSG":
		s.relay.reconciles.drop(s, bad.Sub)
	}
	return s.out.reply(work, bad.AppendReply(nil))
}

// publish hands an event to the door, and waits until the door has taken it. So the relay reads no further from a client that does not read
// its OKs, or that sends faster than the door decides.
func (s *session) publish(work context.Context, e *nostr.Event) error {
	reason := cmp.Or(s.outside(), s.relay.limits.refuseEvent(e))
	switch {
	case reason != "":
		s.relay.counts.refused.Add(1)
	case !s.visitor.MayPublish():
		s.relay.counts.rateLimited.Add(1)
		reason = "rate-limited: too many events from your address; slow down and send this one again"
	case s.source == nil:
		reason = "error: " + ingest.NoWriter
	}
	if reason != "" {
		if err := s.pay.pace(work); err != nil {
			return err
		}
		return s.out.answerNow(work, e.ID, reason)
	}
	if err := s.pay.repay(work); err != nil {
		return err
	}
	v, err := s.out.expectOK(work, e.ID, e.Size())
	if err != nil {
		return err
	}
	err = s.source.Submit(work, e, store.Direct, func(p policy.Verdict) { s.out.fillOK(v, p) })
	if err != nil {
		v.size = 0
		s.out.fillOK(v, policy.Verdict{Outcome: policy.Discard, Reason: "error: not taken, the connection is being closed"})
		s.end(shuttingDown)
	}
	return context.Cause(work)
}

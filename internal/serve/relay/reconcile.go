package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// negFrame is the longest negentropy message that the relay sends, in raw bytes; its frame has twice as many.
const negFrame = 60_000

// negOpen begins a reconciliation (NIP-77). Its set has the events that are served now and match the filter; for later events there is REQ.
func (s *session) negOpen(work context.Context, m nostr.NegOpen) error {
	s.relay.reconciles.drop(s, m.Sub)
	limits := s.relay.limits
	reason := limits.refuseSub(m.Sub)
	if reason == "" {
		reason = cmp.Or(limits.refuseFilter(&m.Filter), onlyREQ(m.Filter))
	}
	if reason == "" && s.relay.reconciles.count(s) >= limits.Reconcile.PerConnection {
		reason = fmt.Sprintf("blocked: too many subscriptions: at most %d reconciliations at once, close one first",
			limits.Reconcile.PerConnection)
	}
	if reason != "" {
		return s.negErr(work, m.Sub, reason, 0)
	}
	set, records, err := s.buildSet(work, m.Filter)
	switch {
	case work.Err() != nil:
		records.GiveBack()
		return context.Cause(work)
	case errors.Is(err, errAddressFilters) || errors.Is(err, errAllFilters):
		return s.negErr(work, m.Sub, err.Error(), 0)
	case errors.Is(err, errTooMany) || errors.Is(err, errCostly):
		return s.negErr(work, m.Sub, "blocked: too many query results", int64(limits.Reconcile.Records))
	case errors.Is(err, errNoMemory):
		return s.negErr(work, m.Sub, "rate-limited: the memory set aside for reconciliations is in use; try again in a minute", 0)
	case err != nil:
		s.relay.logger.Error("stored events cannot be read for a reconciliation", "error", err)
		return s.negErr(work, m.Sub, "error: internal", 0)
	}
	s.relay.reconciles.keep(s, m.Sub, set, records, s.relay.now())
	return s.negAnswer(work, m.Sub, set, m.Msg)
}

// buildSet waits for the turn of the address and reads the set of a filter. It returns the set, and the grant of its memory.
func (s *session) buildSet(work context.Context, f nostr.Filter) (*negentropy.Set, *fair.Grant, error) {
	memory, err := s.holdFilters(costOf([]nostr.Filter{f}))
	if err != nil {
		return nil, nil, err
	}
	defer memory.GiveBack()
	end, err := s.visitor.TakeTurn(work)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	return s.relay.reconciles.build(work, s, f)
}

// negMsg goes on with a reconciliation.
func (s *session) negMsg(work context.Context, m nostr.NegMsg) error {
	set := s.relay.reconciles.use(s, m.Sub, s.relay.now())
	if set == nil {
		return s.negErr(work, m.Sub, "closed: no reconciliation is open under this id", 0)
	}
	return s.negAnswer(work, m.Sub, set, m.Msg)
}

func (s *session) negAnswer(work context.Context, sub string, set *negentropy.Set, msg []byte) error {
	reply, err := negentropy.Respond(set, negFrame, msg)
	if err != nil {
		s.relay.reconciles.drop(s, sub)
		return s.negErr(work, sub, "invalid: "+err.Error(), 0)
	}
	return s.out.reply(work, nostr.AppendNegMsg(nil, sub, reply))
}

func (s *session) negErr(work context.Context, sub, reason string, most int64) error {
	return s.out.reply(work, nostr.AppendNegErr(nil, sub, reason, most))
}

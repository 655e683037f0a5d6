package relay

import (
	"cmp"
	"context"
	"errors"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// counters is how many COUNTs of all clients the relay works on at the same time; others wait.
const counters = 2

// count answers COUNT (NIP-45): exactly, or not at all where that takes too much work. Filters have the same bounds as in
// a REQ. Nothing stays open under the id.
func (s *session) count(work context.Context, m nostr.Count) error {
	limits := s.relay.limits
	reason := limits.refuseSub(m.Sub)
	if reason == "" {
		reason = cmp.Or(limits.refuseFilters(m.Filters), onlyREQ(m.Filters...))
	}
	if reason != "" {
		return s.out.reply(work, nostr.AppendClosed(nil, m.Sub, reason))
	}
	n, err := s.countStored(work, m.Filters)
	switch {
	case work.Err() != nil:
		return context.Cause(work)
	case errors.Is(err, errCostly):
		return s.out.reply(work, nostr.AppendClosed(nil, m.Sub, "blocked: counting this takes too much work; ask for less"))
	case errors.Is(err, errAddressFilters) || errors.Is(err, errAllFilters):
		return s.out.reply(work, nostr.AppendClosed(nil, m.Sub, err.Error()))
	case err != nil:
		s.relay.logger.Error("stored events cannot be counted", "error", err)
		return s.out.reply(work, nostr.AppendClosed(nil, m.Sub, "error: internal"))
	}
	return s.out.reply(work, nostr.AppendCountResult(nil, m.Sub, int64(n)))
}

// countStored counts the stored events that match. It first waits for the turn of the address, and for a token of counting.
func (s *session) countStored(work context.Context, filters []nostr.Filter) (int, error) {
	memory, err := s.holdFilters(costOf(filters))
	if err != nil {
		return 0, err
	}
	defer memory.GiveBack()
	end, err := s.visitor.TakeTurn(work)
	if err != nil {
		return 0, err
	}
	defer end()
	if err := s.relay.counting.acquire(work); err != nil {
		return 0, err
	}
	defer s.relay.counting.release()
	view := s.relay.store.View()
	defer view.Close()
	return view.Metered(s.pay.billed(s.relay.limits.CountWork)).Count(work, filters)
}

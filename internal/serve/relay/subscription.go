package relay

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of open REQs, roughly in bytes of memory. Filters with many short values take far more memory than their frames.
const (
	maxFilterBytes     = 48 << 20  // on one connection; another relay may follow tens of thousands of root events
	addressFilterBytes = 64 << 20  // on all connections of one address
	allFilterBytes     = 512 << 20 // on all connections
	costOfFilter       = 512
	costOfValue        = 160
)

// subscription is one open REQ. It first waits for the writer to send its stored events, and is live from then on.
type subscription struct {
	id      string
	session *session
	filters []*liveFilter // nobody changes them
	cost    int           // bytes in memory, roughly
	memory  *fair.Grant   // the grant for cost; set before the subscription is open

	// Guarded by subscriptions.mu.
	after  store.Seq          // entries up to this one were in the view that answered the stored part
	live   bool               // the writer has sent EOSE
	closed bool               // the writer sends nothing more for it
	cancel context.CancelFunc // ends the scan of its stored events; nil when no scan runs

	indexed bool      // guarded by dispatcher.mu
	hit     store.Seq // the last event that matched; owned by the dispatcher
}

func (s *session) newSubscription(req nostr.Req, size int) *subscription {
	sub := &subscription{id: req.Sub, session: s, cost: size}
	for _, f := range req.Filters {
		sub.filters = append(sub.filters, &liveFilter{Filter: s.relay.limits.clamp(f.Canonical()), sub: sub, words: terms(f.Search)})
	}
	sub.cost += costOf(req.Filters)
	return sub
}

// costOf returns how many bytes of memory filters take, roughly.
func costOf(filters []nostr.Filter) int {
	cost := costOfFilter * len(filters)
	for i := range filters {
		cost += costOfValue * countValues(&filters[i])
	}
	return cost
}

// bytesOfValue is how many bytes of a search are as much work to read as a value.
const bytesOfValue = 8

func countValues(f *nostr.Filter) int {
	n := len(f.IDs) + len(f.Authors) + len(f.Kinds) + len(f.Search)/bytesOfValue
	for _, t := range f.Tags {
		n += len(t.Values)
	}
	return n
}

// openSubscription queues a subscription for the writer, or says why not. It may wait for the dispatcher.
func (s *session) openSubscription(sub *subscription) (refusal string) {
	if refusal := s.subs.refuse(sub, s.relay.limits.Subscriptions); refusal != "" {
		return refusal
	}
	memory, err := s.holdFilters(sub.cost)
	if err != nil {
		return err.Error()
	}
	sub.memory = memory
	s.subs.add(sub)
	sub.memory.Revocable(func() { s.evict(sub) })
	return ""
}

// Why there is no memory for filters, as the client hears it.
var (
	errAddressFilters = errors.New("blocked: too many subscriptions: their filters fill the memory set aside for your address, close one first")
	errAllFilters     = errors.New("rate-limited: this relay holds as many filters as it can; try again later")
)

// holdFilters takes memory for filters, or fails with errAddressFilters or errAllFilters.
func (s *session) holdFilters(bytes int) (*fair.Grant, error) {
	memory, why := s.relay.pools.filters.Take(s.visitor.Party(), int64(bytes))
	switch why {
	case fair.OverAddress:
		return nil, errAddressFilters
	case fair.OverAll:
		return nil, errAllFilters
	}
	return memory, nil
}

// evict ends a subscription because others need its memory. It does not wait.
func (s *session) evict(sub *subscription) {
	if s.drop(sub) {
		s.relay.counts.revoked.Add(1)
		s.out.post(nostr.AppendClosed(nil, sub.id, "rate-limited: your address holds most of the memory for filters, and others need some; ask for less"))
	}
}

// closeSubscription ends the subscription with that id, if there is one.
func (s *session) closeSubscription(id string) {
	if sub := s.subs.get(id); sub != nil {
		s.drop(sub)
	}
}

// drop ends a subscription, whatever it is doing, and reports whether it was still open.
func (s *session) drop(sub *subscription) bool {
	if !s.subs.detach(sub) {
		return false
	}
	sub.memory.GiveBack()
	s.relay.dispatcher.remove(sub)
	return true
}

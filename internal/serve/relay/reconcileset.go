package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	builders    = 2       // sets that the relay reads from the store at the same time
	reserveStep = 1 << 14 // records for which build reserves memory at a time
)

var (
	errTooMany  = errors.New("too many query results")
	errNoMemory = errors.New("no memory for the set")
)

// build reads the set of a filter for a session. It returns the set, and the grant of its memory.
func (r *reconciles) build(ctx context.Context, s *session, f nostr.Filter) (set *negentropy.Set, memory *fair.Grant, err error) {
	if err := r.building.acquire(ctx); err != nil {
		return nil, nil, err
	}
	defer r.building.release()
	view := r.store.View()
	defer view.Close()
	held := r.records.Open(s.visitor.Party())
	defer func() {
		if set == nil {
			held.GiveBack()
		}
	}()
	var items []negentropy.Item
	reserved := 0
	for pair, err := range view.Metered(s.pay.billed(s.relay.limits.ScanWork)).Pairs(ctx, f, false) {
		if err != nil {
			return nil, nil, fmt.Errorf("read the set of a filter: %w", err)
		}
		if len(items) == r.limits.Records {
			return nil, nil, errTooMany
		}
		if len(items) == reserved {
			if !r.reserve(held, reserveStep) {
				return nil, nil, errNoMemory
			}
			reserved += reserveStep
		}
		items = append(items, negentropy.Item{Time: uint64(pair.Time), ID: pair.ID})
	}
	ascend(items)
	return negentropy.NewSet(items), held, nil
}

// ascend turns the order of the store, newest first and the lowest id first within a second, into the order of a set, by time and then by
// id, without sorting.
func ascend(items []negentropy.Item) {
	slices.Reverse(items)
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].Time == items[from].Time {
			to++
		}
		slices.Reverse(items[from:to])
		from = to
	}
}

// reserve takes memory for n more records, and reports whether there was enough. If need be it ends idle reconciliations, and then others'
// oldest ones.
func (r *reconciles) reserve(held *fair.Grant, n int64) bool {
	for {
		why, instead := held.TryGrow(n)
		if why != fair.OverAll {
			return why == fair.Granted
		}
		if idle := r.longestIdle(); idle != nil {
			idle.session.out.post(nostr.AppendNegErr(nil, idle.sub, "closed: idle while others wait; open it again", 0))
			continue
		}
		if instead == nil {
			return false
		}
		instead.Oust()
	}
}

// longestIdle ends the reconciliation that has been idle the longest, and returns it; nil where none has been idle for longer than negYield.
func (r *reconciles) longestIdle() (longest *reconciliation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ofSession := range r.open {
		for _, c := range ofSession {
			if longest == nil || c.used.Before(longest.used) {
				longest = c
			}
		}
	}
	if longest == nil || !longest.used.Before(r.now().Add(-negYield)) {
		return nil
	}
	r.remove(longest)
	return longest
}

package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"graspd/internal/negentropy"
	"graspd/internal/nostr"
)

const (
	builders    = 2       // sets that are read from the store at the same time
	reserveStep = 1 << 14 // records that are reserved at a time while a set is read
)

var (
	errTooMany  = errors.New("too many query results")
	errNoMemory = errors.New("no memory for the set")
)

// build reads the set of a filter for a session. Its records count from then on, until the reconciliation is dropped; on an
// error they are given back.
func (r *reconciles) build(ctx context.Context, s *session, f nostr.Filter) (*negentropy.Set, error) {
	select {
	case r.building <- struct{}{}:
		defer func() { <-r.building }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	view := r.store.View()
	defer view.Close()
	var items []negentropy.Item
	reserved, kept := 0, 0
	defer func() { r.give(s.visitor, reserved-kept) }()
	for pair, err := range view.Metered(s.billed(s.relay.limits.ScanWork)).Pairs(ctx, f, false) {
		if err != nil {
			return nil, fmt.Errorf("read the set of a filter: %w", err)
		}
		if len(items) == r.limits.Records {
			return nil, errTooMany
		}
		if len(items) == reserved {
			if !r.take(s.visitor, reserveStep) {
				return nil, errNoMemory
			}
			reserved += reserveStep
		}
		items = append(items, negentropy.Item{Time: uint64(pair.Time), ID: pair.ID})
	}
	ascend(items)
	set := negentropy.NewSet(items)
	kept = set.Len()
	return set, nil
}

// ascend turns the order of the store, newest first and the lowest id first within a second, into that of a set, which
// is by time and then by id; so it need not be sorted.
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

// take reserves records for an address, at the cost of idle reconciliations if need be.
func (r *reconciles) take(one *visitor, n int) bool {
	ok, ended := r.reserve(one, n)
	for _, c := range ended {
		c.session.post(nostr.AppendNegErr(nil, c.sub, "closed: idle while others wait; open it again", 0))
	}
	return ok
}

func (r *reconciles) reserve(one *visitor, n int) (ok bool, ended []*reconciliation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one != nil && r.held[one]+n > r.share() {
		return false, nil
	}
	ended = r.makeRoom(n)
	if r.left < n {
		return false, ended
	}
	r.left -= n
	r.hold(one, n)
	return true, ended
}

// makeRoom drops idle reconciliations, longest idle first, until n records are left or no idle one is.
func (r *reconciles) makeRoom(n int) (ended []*reconciliation) {
	if r.left >= n {
		return nil
	}
	var idle []*reconciliation
	before := r.now().Add(-negYield)
	for _, ofSession := range r.open {
		for _, c := range ofSession {
			if c.used.Before(before) {
				idle = append(idle, c)
			}
		}
	}
	slices.SortFunc(idle, func(a, b *reconciliation) int { return a.used.Compare(b.used) })
	for _, c := range idle {
		if r.left >= n {
			break
		}
		r.remove(c)
		ended = append(ended, c)
	}
	return ended
}

func (r *reconciles) give(one *visitor, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += n
	r.hold(one, -n)
}

// share is how many records one address may have: a quarter of all, but one of the largest sets in any case.
func (r *reconciles) share() int { return max(r.limits.Total/4, r.limits.Records+reserveStep) }

// hold is called with mu held.
func (r *reconciles) hold(one *visitor, n int) {
	if one == nil {
		return
	}
	if r.held[one] += n; r.held[one] == 0 {
		delete(r.held, one)
	}
}

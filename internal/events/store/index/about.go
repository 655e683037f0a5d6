package index

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// About does what store.View.About says, on this state.
func (r Reader) About(ctx context.Context, ids []nostr.ID, addresses []string) iter.Seq2[Row, error] {
	return sequence("query what is about something", func(yield func(Row, error) bool) error {
		return r.begun().eachAbout(ctx, ids, addresses, yield)
	})
}

func (r Reader) eachAbout(ctx context.Context, ids []nostr.ID, addresses []string, yield func(Row, error) bool) error {
	q := newQuery(nostr.Filter{})
	q.driver.spans = namingAny(ids, addresses)
	standing, err := standingAt(r, q, addresses)
	if err != nil {
		return err
	}
	show := func(at *found) (bool, error) {
		row, _, err := r.open(q, at, nil)
		return err == nil && yield(row, nil), err
	}
	more := true
	err = r.runScan(ctx, q, false, func(at *found) (bool, error) {
		for len(standing) > 0 && bytes.Compare(standing[0].order[:], at.order[:]) < 0 {
			if more, err = show(&standing[0]); err != nil || !more {
				return false, err
			}
			standing = standing[1:]
		}
		if len(standing) > 0 && standing[0].order == at.order {
			standing = standing[1:]
		}
		more, err = show(at)
		return more, err
	})
	for i := 0; err == nil && more && i < len(standing); i++ {
		more, err = show(&standing[i])
	}
	return err
}

// standingAt returns the events at the addresses, in the order of results.
func standingAt(r Reader, q *query, addresses []string) ([]found, error) {
	var all []found
	for _, a := range addresses {
		s, ok, err := r.Slot(layout.HashOf(a))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		time, at, ok, err := r.Lookup(s.ID)
		if err != nil {
			return nil, err
		}
		f := found{order: layout.OrderOf(time, s.ID), row: at}
		if ok && r.shows(q, &f, false) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b found) int { return bytes.Compare(a.order[:], b.order[:]) })
	return slices.CompactFunc(all, func(a, b found) bool { return a.order == b.order }), nil
}

// namingAny returns the index ranges of events that name one of the ids or addresses.
func namingAny(ids []nostr.ID, addresses []string) (all []keyRange) {
	for _, id := range ids {
		h := layout.HashOf(id.String())
		all = append(all, bothCases('e', h), tagSpan('q', h))
	}
	for _, a := range addresses {
		h := layout.HashOf(a)
		all = append(all, bothCases('a', h), tagSpan('q', h))
	}
	slices.SortFunc(all, bySpan)
	return all
}

package store_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

// What answers a query ends with its reader, wherever that leaves and whatever its meter says afterwards: a client hangs up
// or replaces its subscription at any moment.
func TestAnAnswerEndsWithItsReader(t *testing.T) {
	s, ids := shelf(t)
	some := nostr.Filter{Kinds: []nostr.Kind{1111, 1621}}
	naming := nostr.Filter{Tags: []nostr.TagFilter{{Name: 'e', Values: []string{ids[0].String(), ids[1].String()}}}}
	for name, f := range map[string]nostr.Filter{"everything": {}, "kinds": some, "ids": {IDs: ids}, "tag": naming} {
		t.Run(name, func(t *testing.T) {
			itertest.Seq2(t, func(ctx context.Context) iter.Seq2[store.Row, error] { return metered(ctx, t, s).Query(ctx, f) })
			itertest.Seq2(t, func(ctx context.Context) iter.Seq2[*nostr.Event, error] { return metered(ctx, t, s).Events(ctx, f) })
			itertest.Seq2(t, func(ctx context.Context) iter.Seq2[store.Pair, error] { return metered(ctx, t, s).Pairs(ctx, f, true) })
			itertest.Seq2(t, func(ctx context.Context) iter.Seq2[store.Mark, error] { return metered(ctx, t, s).Marks(ctx, f) })
		})
	}
	itertest.Seq2(t, func(ctx context.Context) iter.Seq2[store.Row, error] {
		return metered(ctx, t, s).About(ctx, ids[:3], nil)
	})
}

// metered is a view whose meter says that the reader is gone as soon as its context has ended.
func metered(ctx context.Context, t *testing.T, s *store.Store) *store.View {
	v := s.View()
	t.Cleanup(func() { v.Close() })
	return v.Metered(func(int) error { return context.Cause(ctx) })
}

// shelf is a store with issues, and comments on the first three of them.
func shelf(t *testing.T) (*store.Store, []nostr.ID) {
	t.Helper()
	s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem(), Floor: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var ids []nostr.ID
	for i := range 300 {
		e := &nostr.Event{Kind: 1621, CreatedAt: int64(1000 + i), Content: fmt.Sprint(i)}
		if i >= 100 {
			e.Kind, e.Tags = 1111, nostr.Tags{{"e", ids[i%3].String()}}
		}
		e.ID = e.ComputeID()
		ids = append(ids, e.ID)
		if _, err := b.Add(e, store.Direct); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	return s, ids
}

package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Start is the time at which a test's clock begins.
const Start = 1_700_000_000

// rig is a store under test on its disk, with a clock.
type rig struct {
	Store
	disk Disk
	opt  store.Options
	now  int64
}

func newRig(t testing.TB, disk Disk, o store.Options) *rig {
	t.Helper()
	r := &rig{disk: disk, opt: o, now: Start}
	r.opt.Now = func() time.Time { return time.Unix(r.now, 0) }
	r.Store = disk.Open(t, r.opt)
	t.Cleanup(func() { r.Close() })
	return r
}

// reopen closes the store and opens it again.
func (r *rig) reopen(t testing.TB) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	r.Store = r.disk.Open(t, r.opt)
}

// batch runs do in a batch and commits it.
func (r *rig) batch(t testing.TB, do func(b Batch)) store.Seq {
	t.Helper()
	b, err := r.Begin()
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	defer b.Discard()
	do(b)
	seq, err := b.Commit()
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return seq
}

// add adds events in one batch and requires what becomes of each.
func (r *rig) add(t testing.TB, want policy.Outcome, events ...*nostr.Event) store.Seq {
	t.Helper()
	return r.batch(t, func(b Batch) {
		for i, e := range events {
			add(t, b, want, e, i)
		}
	})
}

func add(t testing.TB, b Batch, want policy.Outcome, e *nostr.Event, what any) {
	t.Helper()
	out, err := b.Add(e, store.Live)
	if err != nil || out != want {
		t.Fatalf("add %v: %v, %v; want %v", what, out, err, want)
	}
}

func (r *rig) remember(t testing.TB, why policy.Outcome, events ...*nostr.Event) {
	t.Helper()
	r.batch(t, func(b Batch) {
		for _, e := range events {
			if err := b.Remember(e, why); err != nil {
				t.Fatalf("remember: %v", err)
			}
		}
	})
}

// query lists the ids that a filter finds.
func (r *rig) query(t testing.TB, f nostr.Filter) []nostr.ID {
	t.Helper()
	v := r.View()
	defer v.Close()
	return queryIDs(t, v, f)
}

func queryIDs(t testing.TB, v View, f nostr.Filter) []nostr.ID {
	t.Helper()
	var ids []nostr.ID
	for row, err := range v.Query(t.Context(), f) {
		if err != nil {
			t.Fatalf("query %s: %v", f.AppendJSON(nil), err)
		}
		e, err := row.Event()
		if err != nil || e.ID != row.ID || e.CreatedAt != row.Time {
			t.Fatalf("query %s: row does not fit its event: %v", f.AppendJSON(nil), err)
		}
		ids = append(ids, row.ID)
	}
	return ids
}

func (r *rig) pairs(t testing.TB, f nostr.Filter, flagged bool) []nostr.ID {
	t.Helper()
	v := r.View()
	defer v.Close()
	var ids []nostr.ID
	for p, err := range v.Pairs(t.Context(), f, flagged) {
		if err != nil {
			t.Fatalf("pairs %s: %v", f.AppendJSON(nil), err)
		}
		ids = append(ids, p.ID)
	}
	return ids
}

func (r *rig) known(t testing.TB, id nostr.ID) store.Knowledge {
	t.Helper()
	v := r.View()
	defer v.Close()
	k, err := v.Known(id)
	if err != nil {
		t.Fatalf("known: %v", err)
	}
	return k
}

// feed reads the whole feed after a number, a few entries at a time.
func feed(t testing.TB, s Store, after store.Seq, page int) []store.Entry {
	t.Helper()
	var all []store.Entry
	for {
		entries, _, err := s.Since(after, page)
		if err != nil {
			t.Fatalf("since %d: %v", after, err)
		}
		if len(entries) > page {
			t.Fatalf("since %d: %d entries, asked for at most %d", after, len(entries), page)
		}
		if len(entries) == 0 {
			return all
		}
		for _, e := range entries {
			if e.Seq <= after {
				t.Fatalf("since: entry %d after %d", e.Seq, after)
			}
			after = e.Seq
		}
		all = append(all, entries...)
	}
}

func idsOf(events ...*nostr.Event) []nostr.ID {
	var ids []nostr.ID
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func wantIDs(t testing.TB, what string, got, want []nostr.ID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %s, want %s", what, short(got), short(want))
	}
}

func short(ids []nostr.ID) string {
	s := fmt.Sprintf("%d:", len(ids))
	for _, id := range ids[:min(len(ids), 12)] {
		s += " " + id.String()[:6]
	}
	return s
}

func ptr[T any](v T) *T { return &v }

func tagged(name byte, values ...string) nostr.Filter {
	return nostr.Filter{Tags: []nostr.TagFilter{{Name: name, Values: values}}}
}

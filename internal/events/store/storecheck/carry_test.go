package storecheck

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// rebuilt spoils an exhibit and repairs it; it does not look at what a check says of it before.
func rebuilt(t *testing.T, x *exhibit, spoil func()) (Repaired, *store.Store) {
	t.Helper()
	o := store.Options{Dir: "data/store", FS: vfs.NewMem()}
	spoilt(t, o, x, func(*exhibit) { spoil() })
	r, err := Repair(t.Context(), o, CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return r, s
}

func knows(t *testing.T, s *store.Store, id nostr.ID) index.Knowledge {
	t.Helper()
	v := s.View()
	defer v.Close()
	k, err := v.Known(id)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestRepairRemembersWhatItLeavesOut: what a file that was given up may bring back; else it would be fetched again at
// once. What is there twice is there once.
func TestRepairRemembersWhatItLeavesOut(t *testing.T) {
	x := newExhibit()
	left, deleted := made(4, 50, nip34.KindIssue), made(6, 50, nip34.KindIssue)
	for e, want := range map[*nostr.Event]index.Knowledge{
		x.issue: {State: index.Stored},
		x.first: {State: index.Remembered, Why: policy.Superseded},
		left:    {State: index.Remembered, Why: policy.Vanished},
		deleted: {State: index.Remembered, Why: policy.Deleted},
	} {
		x := newExhibit()
		r, s := rebuilt(t, x, func() {
			x.drop(layout.IDKey(layout.TableRecord, e.ID))
			x.set(layout.DeletedIDKey(deleted.ID, deleted.PubKey), binary.BigEndian.AppendUint64(nil, 60)) // by one that has expired
			x.set(layout.LogKey(100), layout.AppendLog(nil, layout.Direct, e))
		})
		if k := knows(t, s, e.ID); k.State != want.State || k.Why != want.Why || r.LeftOut != 1 {
			t.Errorf("%+v, %+v; want %+v", k, r, want)
		}
	}
}

// TestRepairForgetsWhatIsStored: an event is stored or remembered, not both.
func TestRepairForgetsWhatIsStored(t *testing.T) {
	x := newExhibit()
	_, s := rebuilt(t, x, func() {
		x.set(layout.IDKey(layout.TableRecord, x.issue.ID), layout.Record{Facts: layout.FactsOf(x.issue).Kept(), Why: policy.Unrelated}.Append(nil))
	})
	if _, ok, err := s.View().Reader().Record(x.issue.ID); ok || err != nil || knows(t, s, x.issue.ID).State != index.Stored {
		t.Errorf("remembered: %v, %v", ok, err)
	}
}

// TestRepairBeginsRemovalsAgain: what was removed so far may be there again.
func TestRepairBeginsRemovalsAgain(t *testing.T) {
	x := newExhibit()
	p := layout.NewPurge(layout.ReasonWithdrawn, x.other.PubKey, x.other.CreatedAt)
	p.Part = layout.PurgeParts - 1
	_, s := rebuilt(t, x, func() { x.set(p.Key(), p.Append(nil)) })
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	more, err := b.Purge(1000)
	if has, _ := b.Has(x.other.ID); has || more || err != nil {
		t.Errorf("it is there: %v; more: %v, %v", has, more, err)
	}
}

// TestRepairTellsWhatIsLost: how many events there should be, and the ids of those that are still named.
func TestRepairTellsWhatIsLost(t *testing.T) {
	x := newExhibit()
	r, _ := rebuilt(t, x, func() { x.drop(layout.LogKey(x.seq(x.issue))) })
	if len(r.Problems) != 2 || !strings.HasPrefix(r.Problems[0], "1 of the ") || !strings.Contains(r.Problems[1], x.issue.ID.String()) {
		t.Errorf("%q", r.Problems)
	}
	x = newExhibit()
	r, _ = rebuilt(t, x, func() {
		x.drop(layout.LogKey(x.seq(x.issue)))
		x.drop(layout.IDKey(layout.TableID, x.issue.ID))
	})
	if len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0], "1 of the ") {
		t.Errorf("without its id: %q", r.Problems)
	}
}

// TestRepairWithoutTheRules: of what was refused by rules that nobody knows any more, nothing is known.
func TestRepairWithoutTheRules(t *testing.T) {
	for _, readable := range []bool{true, false} {
		x := newExhibit()
		_, s := rebuilt(t, x, func() {
			if !readable {
				x.drop(layout.MetaKey(layout.MetaRules))
			}
		})
		if k := knows(t, s, x.refused.ID); (k.State == index.Remembered) != readable {
			t.Errorf("the rules are readable: %v, %+v", readable, k)
		}
	}
}

// TestRepairKeepsTheSlotsOfWhatIsGone: older versions do not come back.
func TestRepairKeepsTheSlotsOfWhatIsGone(t *testing.T) {
	x := newExhibit()
	newer := made(3, 200, nip34.KindRepository, nostr.Tag{"d", "z"})
	x.again = func(b *store.Batch) {
		if err := b.Remember(newer, policy.Withdraw); err != nil {
			t.Fatal(err)
		}
	}
	_, s := rebuilt(t, x, func() {})
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	older := made(3, 199, nip34.KindRepository, nostr.Tag{"d", "z"})
	if out, err := b.Outcome(older); out != policy.Superseded || err != nil {
		t.Errorf("%v, %v", out, err)
	}
}

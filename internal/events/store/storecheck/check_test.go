package storecheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// exhibit is a store with one event of every sort that a check has something to say about.
type exhibit struct {
	issue, temporary, wrap    *nostr.Event
	first, second, other      *nostr.Event // versions of one announcement, and another one
	list, delID, delAddr, bye *nostr.Event
	refused                   *nostr.Event
	again                     func(b *store.Batch) // puts in what else there is to be; nil is nothing
	w                         *pebble.Batch        // what is spoilt goes in here, behind the store's back
	c                         layout.Counters
}

func made(author byte, at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: nostr.PubKey{author}, CreatedAt: at, Kind: kind, Tags: tags, Content: "c"}
	e.ID = e.ComputeID()
	return e
}

func newExhibit() *exhibit {
	deleted := nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{1}, D: "gone"}
	return &exhibit{
		issue:     made(1, 100, nip34.KindIssue, nostr.Tag{"a", "30617:x:y"}),
		temporary: made(1, 101, nip34.KindIssue, nostr.Tag{"expiration", "99999999999"}),
		wrap:      made(2, 102, nostr.KindGiftWrap, nostr.Tag{"p", nostr.PubKey{7}.String()}),
		first:     made(1, 103, nip34.KindRepository, nostr.Tag{"d", "x"}),
		second:    made(1, 104, nip34.KindRepository, nostr.Tag{"d", "x"}),
		other:     made(3, 105, nip34.KindRepository, nostr.Tag{"d", "z"}),
		list:      made(1, 106, 10_317),
		delID:     made(1, 107, nostr.KindDeletion, nostr.Tag{"e", nostr.ID{9}.String()}),
		delAddr:   made(1, 108, nostr.KindDeletion, nostr.Tag{"a", deleted.String()}),
		bye:       made(4, 109, nostr.KindVanish, nostr.Tag{"relay", "ALL_RELAYS"}),
		refused:   made(5, 110, nip34.KindIssue, nostr.Tag{"a", "30617:x:y"}),
	}
}

// fill adds everything in a commit.
func (x *exhibit) fill(t *testing.T, s *store.Store) {
	t.Helper()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*nostr.Event{x.issue, x.temporary, x.wrap, x.first, x.other, x.second, x.list, x.delID, x.delAddr, x.bye} {
		if out, err := b.Add(e, layout.Direct); err != nil || out != policy.Accept {
			t.Fatal(e, out, err)
		}
	}
	if err := b.Remember(x.refused, policy.Refuse); err != nil {
		t.Fatal(err)
	}
	if more, err := b.Purge(1000); more || err != nil {
		t.Fatal(more, err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

func (x *exhibit) set(key, value []byte) { _ = x.w.Set(key, value, nil) }
func (x *exhibit) drop(key []byte)       { _ = x.w.Delete(key, nil) }

func (x *exhibit) get(key []byte) []byte {
	v, _, _ := index.Get(x.w, key)
	return v
}

// change writes another value for what is there.
func (x *exhibit) change(key []byte, change func(v []byte)) {
	v := bytes.Clone(x.get(key))
	change(v)
	x.set(key, v)
}

func (x *exhibit) seq(e *nostr.Event) layout.Seq {
	_, at, _ := layout.ParseIDRow(x.get(layout.IDKey(layout.TableID, e.ID)))
	return at.Seq
}

// row is the key of the index row by kind.
func (x *exhibit) row(e *nostr.Event) []byte {
	return layout.AppendOrder(layout.KindPrefix(e.Kind), e.CreatedAt, e.ID)
}

func (x *exhibit) slot(e *nostr.Event) []byte {
	return layout.HashKey(layout.TableSlot, layout.HashOf(e.Address()))
}

func (x *exhibit) place(e *nostr.Event) []byte {
	s, _ := layout.ParseSlot(x.get(x.slot(e)))
	return layout.AnnouncementKey(layout.HashOf(e.Tags.D()), s.First)
}

func flipLast(v []byte) { v[len(v)-1] ^= 1 }

// TestCheckFinds: whatever does not agree with the log is found, and named.
func TestCheckFinds(t *testing.T) {
	var none [layout.HashLen]byte
	for _, c := range []struct {
		name  string
		spoil func(x *exhibit)
		want  string
	}{
		{"nothing", func(*exhibit) {}, ""},
		{"log: a key", func(x *exhibit) { x.set([]byte{layout.TableLog, 1}, []byte{0, 0}) }, "log: key of 2 bytes"},
		{"log: number zero", func(x *exhibit) { x.set(layout.LogKey(0), layout.AppendLog(nil, layout.Live, made(1, 1, 1))) }, "entry 0: head is 11"},
		{"log: past the head", func(x *exhibit) { x.c.Head = 9 }, "entry 10: head is 9"},
		{"log: short", func(x *exhibit) { x.set(layout.LogKey(1), []byte{0}) }, "entry 1: log entry: corrupt record"},
		{"log: no event", func(x *exhibit) { x.set(layout.LogKey(1), []byte("\x00\x00{}")) }, "entry 1: "},
		{"log: another text", func(x *exhibit) {
			x.set(layout.LogKey(1), bytes.Replace(x.get(layout.LogKey(1)), []byte(`"content":"c"`), []byte(`"content":"d"`), 1))
		}, "entry 1: " + nostr.ErrID.Error()},
		{"id row: missing", func(x *exhibit) { x.drop(layout.IDKey(layout.TableID, x.issue.ID)) }, "id row of " + newExhibit().issue.ID.String() + ": missing"},
		{"id row: wrong", func(x *exhibit) { x.change(layout.IDKey(layout.TableID, x.issue.ID), flipLast) }, "id row of " + newExhibit().issue.ID.String() + ": wrong"},
		{"id row: of nothing", func(x *exhibit) {
			x.set(layout.IDKey(layout.TableID, nostr.ID{1}), x.get(layout.IDKey(layout.TableID, x.issue.ID)))
		}, "id rows: 10 there, 9 expected"},
		{"row: missing", func(x *exhibit) { x.drop(x.row(x.issue)) }, "row 'k' of " + newExhibit().issue.ID.String() + ": missing"},
		{"row: wrong", func(x *exhibit) { x.change(x.row(x.issue), flipLast) }, "row 'k' of " + newExhibit().issue.ID.String() + ": wrong"},
		{"row: of nothing", func(x *exhibit) { x.set(x.row(made(1, 1, 1)), x.get(x.row(x.issue))) }, "index rows: "},
		{"tag row: of nothing", func(x *exhibit) {
			x.set(layout.AppendOrder(layout.TagPrefix('a', none), 1, nostr.ID{}), x.get(x.row(x.issue)))
		}, "index rows: "},
		{"expiration: missing", func(x *exhibit) { x.drop(layout.TimedKey(layout.TableExpiry, 99_999_999_999, x.temporary.ID)) }, "expiration of "},
		{"expiration: of nothing", func(x *exhibit) { x.set(layout.TimedKey(layout.TableExpiry, 5, x.issue.ID), nil) }, "expirations: 2 there, 1 expected"},
		{"stored and deleted by id", func(x *exhibit) {
			x.set(layout.DeletedIDKey(x.issue.ID, x.issue.PubKey), binary.BigEndian.AppendUint64(nil, 200))
		}, "is stored and deleted"},
		{"stored and deleted by address", func(x *exhibit) {
			x.set(layout.HashKey(layout.TableDeletedAddress, layout.HashOf(x.second.Address())), binary.BigEndian.AppendUint64(nil, 200))
		}, "is stored and deleted"},
		{"a slot: missing", func(x *exhibit) { x.drop(x.slot(x.list)) }, "is stored and not the newest of its address"},
		{"a slot: gone", func(x *exhibit) { x.change(x.slot(x.list), func(v []byte) { v[0] = byte(layout.SlotGone) }) }, "is stored and not the newest of its address"},
		{"a slot: of another time", func(x *exhibit) { x.change(x.slot(x.list), func(v []byte) { v[8]++ }) }, "is stored and not the newest of its address"},
		{"a slot: of another event", func(x *exhibit) { x.change(x.slot(x.list), func(v []byte) { v[9]++ }) }, "is stored and not the newest of its address"},
		{"a slot: of another entry", func(x *exhibit) { x.change(x.slot(x.list), func(v []byte) { v[48]++ }) }, "is stored and not the newest of its address"},
		{"a slot: corrupt", func(x *exhibit) { x.set(layout.HashKey(layout.TableSlot, none), []byte{1}) }, "slot: corrupt record"},
		{"a slot: of nothing", func(x *exhibit) { x.set(layout.HashKey(layout.TableSlot, none), x.get(x.slot(x.list))) }, "newest versions: 4 there, 3 expected"},
		{"stored and vanished", func(x *exhibit) {
			x.set(layout.VanishedKey(x.issue.PubKey), layout.Vanishing{Until: 100, ID: nostr.ID{}}.Append(nil))
		}, "is stored and 0100"},
		{"a wrap for who has vanished", func(x *exhibit) {
			x.set(layout.VanishedKey(nostr.PubKey{7}), layout.Vanishing{Until: 200, ID: nostr.ID{}}.Append(nil))
		}, "is stored and 0700"},
		{"a removal that ends too early", func(x *exhibit) {
			x.set(layout.VanishedKey(x.issue.PubKey), layout.Vanishing{Until: 100, ID: nostr.ID{}}.Append(nil))
			p := layout.NewPurge(layout.ReasonVanished, x.issue.PubKey, 99)
			x.set(p.Key(), p.Append(nil))
		}, "is stored and 0100"},
		{"a request that does not count", func(x *exhibit) { x.drop(layout.VanishedKey(x.bye.PubKey)) }, "request to vanish " + newExhibit().bye.ID.String() + " does not count"},
		{"a request of which another counts", func(x *exhibit) { x.change(layout.VanishedKey(x.bye.PubKey), func(v []byte) { v[7]-- }) }, "request to vanish " + newExhibit().bye.ID.String() + " does not count"},
		{"a request that is not stored", func(x *exhibit) {
			x.set(layout.VanishedKey(nostr.PubKey{8}), layout.Vanishing{Until: 1, ID: nostr.ID{}}.Append(nil))
		}, "the request of 0800"},
		{"a request under a wrong key", func(x *exhibit) { x.set([]byte{layout.TableVanished, 1}, nil) }, "request to vanish: key of 2 bytes"},
		{"a request: corrupt", func(x *exhibit) { x.set(layout.VanishedKey(nostr.PubKey{8}), []byte{1}) }, "request to vanish: corrupt record"},
		{"a mark by id: missing", func(x *exhibit) { x.drop(layout.DeletedIDKey(nostr.ID{9}, x.delID.PubKey)) }, "mark of deletion " + newExhibit().delID.ID.String() + " for an id: missing"},
		{"a mark by id: older", func(x *exhibit) {
			x.set(layout.DeletedIDKey(nostr.ID{9}, x.delID.PubKey), binary.BigEndian.AppendUint64(nil, 1))
		}, "mark of deletion " + newExhibit().delID.ID.String() + " for an id: missing"},
		{"a mark by address: missing", func(x *exhibit) {
			x.drop(layout.HashKey(layout.TableDeletedAddress, layout.HashOf(x.delAddr.Tags[0].Value())))
		}, "mark of deletion " + newExhibit().delAddr.ID.String() + " for an address: missing"},
		{"a mark by address: older", func(x *exhibit) {
			x.set(layout.HashKey(layout.TableDeletedAddress, layout.HashOf(x.delAddr.Tags[0].Value())), binary.BigEndian.AppendUint64(nil, 1))
		}, "mark of deletion " + newExhibit().delAddr.ID.String() + " for an address: missing"},
		{"stored and remembered", func(x *exhibit) {
			x.set(layout.IDKey(layout.TableRecord, x.issue.ID), layout.Record{Facts: layout.FactsOf(x.issue).Kept(), Why: policy.Refuse, Due: 7}.Append(nil))
		}, "is stored and remembered"},
		{"a record under a wrong key", func(x *exhibit) { x.set([]byte{layout.TableRecord, 1}, nil) }, "record: key of 2 bytes"},
		{"a record: corrupt", func(x *exhibit) { x.set(layout.IDKey(layout.TableRecord, nostr.ID{1}), []byte{1}) }, "record of 0100"},
		{"the queue: missing", func(x *exhibit) {
			r, _ := layout.ParseRecord(x.refused.ID, x.get(layout.IDKey(layout.TableRecord, x.refused.ID)))
			x.drop(layout.TimedKey(layout.TableQueue, r.Due, r.ID))
		}, "place of " + newExhibit().refused.ID.String() + " in the queue: missing"},
		{"the queue: of nothing", func(x *exhibit) { x.set(layout.TimedKey(layout.TableQueue, 5, x.issue.ID), nil) }, "places in the queue: 3 there, 2 expected"},
		{"a flagged row: missing", func(x *exhibit) {
			x.drop(layout.AppendOrder(layout.Flagged(layout.KindPrefix(x.refused.Kind)), x.refused.CreatedAt, x.refused.ID))
		}, "flagged row 'K' of " + newExhibit().refused.ID.String() + ": missing"},
		{"a flagged row: of nothing", func(x *exhibit) { x.set(layout.AppendOrder(layout.Flagged(layout.TimePrefix()), 1, nostr.ID{}), nil) }, "flagged rows: "},
		{"a place: missing", func(x *exhibit) { x.drop(x.place(x.second)) }, "announcement list: 1 there, 2 expected"},
		{"a place: of nothing", func(x *exhibit) { x.set(x.place(x.second), binary.BigEndian.AppendUint64(nil, 77)) }, "announcement list: entry 77 is not there"},
		{"a place: of another event", func(x *exhibit) {
			x.set(x.place(x.second), binary.BigEndian.AppendUint64(nil, uint64(x.seq(x.issue))))
		}, "does not belong there"},
		{"a place: of another repository", func(x *exhibit) {
			x.set(x.place(x.second), binary.BigEndian.AppendUint64(nil, uint64(x.seq(x.other))))
		}, "does not belong there"},
		{"a place: corrupt", func(x *exhibit) { x.set([]byte{layout.TableAnnouncement, 1}, nil) }, "announcement list: corrupt record"},
		{"a removal: corrupt", func(x *exhibit) { x.set([]byte{layout.TablePurge, 1}, nil) }, "purge: corrupt record"},
		{"a removal: without a request", func(x *exhibit) {
			p := layout.NewPurge(layout.ReasonVanished, nostr.PubKey{8}, 5)
			x.set(p.Key(), p.Append(nil))
		}, "events of 0800"},
		{"a removal: of another request", func(x *exhibit) {
			p := layout.NewPurge(layout.ReasonVanished, x.bye.PubKey, 5)
			x.set(p.Key(), p.Append(nil))
		}, "events of 0400"},
		{"counter of events", func(x *exhibit) { x.c.Events++ }, "counter of events: 10, counted 9"},
		{"counter of repositories", func(x *exhibit) { x.c.Repositories-- }, "counter of repositories: 1, counted 2"},
		{"counter of what is remembered", func(x *exhibit) { x.c.Flagged++ }, "counter of remembered: "},
		{"counter of remembered rows", func(x *exhibit) { x.c.FlaggedRows++ }, "counter of remembered rows: "},
		{"a row: with a long name", func(x *exhibit) { x.set(layout.NamedKey(strings.Repeat("n", layout.MaxRowName+1)), nil) }, "a row's name has 1 to 200 bytes, not 201"},
		{"a row: without a name", func(x *exhibit) { x.set(layout.NamedKey(""), nil) }, "a row's name has 1 to 200 bytes, not 0"},
		{"a row: too large", func(x *exhibit) { x.set(layout.NamedKey("n"), make([]byte, layout.MaxRowValue+1)) }, `row "n": a value has at most 4194304 bytes, not 4194305`},
		{"a mark: cut", func(x *exhibit) { x.set(layout.DeletedIDKey(nostr.ID{8}, x.delID.PubKey), make([]byte, 9)) }, "mark of a deletion: "},
		{"what ages: missing", func(x *exhibit) { x.drop(layout.TimedKey(layout.TableUnused, layout.AgesAt(107, 200), x.delID.ID)) }, "deletions that age: 2 there, 1 expected"},
		{"what ages: at another time", func(x *exhibit) { x.change(layout.IDKey(layout.TableUnusedDue, x.delID.ID), flipLast) }, "when " + newExhibit().delID.ID.String() + " ages: wrong"},
		{"what ages: nothing", func(x *exhibit) {
			x.set(layout.TimedKey(layout.TableUnused, 300, nostr.ID{7}), x.delID.PubKey[:])
			x.set(layout.IDKey(layout.TableUnusedDue, nostr.ID{7}), binary.BigEndian.AppendUint64(nil, 300))
		}, "0700000000000000000000000000000000000000000000000000000000000000 ages and is not there"},
		{"what ages: an issue", func(x *exhibit) {
			x.set(layout.TimedKey(layout.TableUnused, 300, x.issue.ID), x.issue.PubKey[:])
			x.set(layout.IDKey(layout.TableUnusedDue, x.issue.ID), binary.BigEndian.AppendUint64(nil, 300))
		}, "ages and is no deletion by"},
		{"what ages: by another author", func(x *exhibit) {
			x.set(layout.TimedKey(layout.TableUnused, layout.AgesAt(107, 200), x.delID.ID), x.other.PubKey[:])
		}, "ages and is no deletion by"},
		{"what ages: cut", func(x *exhibit) { x.set(layout.TimedKey(layout.TableUnused, 300, x.issue.ID), nil) }, "unused deletion: "},
		{"what ages: counted wrong", func(x *exhibit) {
			x.set(layout.MarkCountKey(x.delID.PubKey), layout.MarkCount{N: 2, Unused: 3}.Append(nil))
		}, "3 and 0 are counted, 2 and 0 there"},
		{"what has aged: counted wrong", func(x *exhibit) {
			x.set(layout.MarkCountKey(x.delID.PubKey), layout.MarkCount{N: 2, Unused: 2, Aged: 1}.Append(nil))
		}, "2 and 1 are counted, 2 and 0 there"},
		{"what ages: not counted", func(x *exhibit) { x.drop(layout.MarkCountKey(x.delID.PubKey)) }, "unused deletions of 1 authors are not counted"},
		{"sum of the numbers", func(x *exhibit) { x.c.Seqs++ }, "counter of numbers: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, x := store.Options{Dir: "data", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(200, 0) }}, newExhibit()
			r := spoilt(t, o, x, c.spoil)
			if c.want == "" && len(r.Problems) > 0 ||
				c.want != "" && !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("got %q, want %q", r.Problems, c.want)
			}
		})
	}
}

// spoilt fills a store, spoils it, and checks it.
func spoilt(t *testing.T, o store.Options, x *exhibit, spoil func(*exhibit)) Report {
	t.Helper()
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	x.fill(t, s)
	if x.again != nil {
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		x.again(b)
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	v := s.View()
	x.c = v.Counters()
	v.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	behind(t, o, func(db *pebble.DB) error {
		x.w = db.NewIndexedBatch()
		spoil(x)
		return errors.Join(x.w.Set(layout.MetaKey(layout.MetaCounters), x.c.Append(nil), nil), x.w.Commit(pebble.Sync))
	})
	o.ReadOnly = true // as who checks a store opens it
	if s, err = store.Open(o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v = s.View()
	defer v.Close()
	r, err := Check(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// behind opens what is under a closed store.
func behind(t *testing.T, o store.Options, do func(db *pebble.DB) error) {
	t.Helper()
	db, err := pebble.Open(o.Dir, &pebble.Options{FS: o.FS, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(do(db), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestCheckTellsABoundedNumberOfProblems: a store that is all wrong makes no report that is as large.
func TestCheckTellsABoundedNumberOfProblems(t *testing.T) {
	r := spoilt(t, store.Options{Dir: "data", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(200, 0) }}, newExhibit(), func(x *exhibit) {
		for i := range uint64(3 * maxProblems) {
			x.set(layout.LogKey(layout.Seq(100+i)), []byte{0})
		}
	})
	if len(r.Problems) != maxProblems || !r.More {
		t.Errorf("%d problems, more: %v", len(r.Problems), r.More)
	}
}

// TestRepairOfRowsThatMayNotBe: they are left out, and told.
func TestRepairOfRowsThatMayNotBe(t *testing.T) {
	o, x := store.Options{Dir: "data", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(200, 0) }}, newExhibit()
	spoilt(t, o, x, func(x *exhibit) {
		x.set(layout.NamedKey("sound"), []byte("1"))
		x.set(layout.NamedKey(""), []byte("2"))
		x.set(layout.NamedKey(strings.Repeat("n", layout.MaxRowName+1)), []byte("3"))
		x.set(layout.NamedKey("large"), make([]byte, layout.MaxRowValue+1))
	})
	r, err := Repair(t.Context(), o, CheckOptions{})
	if err != nil || len(r.Problems) != 3 || !strings.Contains(r.Problems[1], `row "large": a value has at most`) {
		t.Errorf("%+v, %v", r, err)
	}
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v := s.View()
	defer v.Close()
	if report, err := Check(t.Context(), v); err != nil || report.Named != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if value, err := v.Row("sound"); string(value) != "1" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
}

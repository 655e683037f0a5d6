package storecheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestCheckFindsWhatIsWrongWithWaits: whatever does not agree with the events that wait is found, and named.
func TestCheckFindsWhatIsWrongWithWaits(t *testing.T) {
	waits := made(2, 200, nip34.KindRepository, nostr.Tag{"d", "w"}, nostr.Tag{"expiration", "99999999999"})
	row := layout.IDKey(layout.TableWait, waits.ID)
	at := func(x *exhibit) layout.WaitRow { w, _ := layout.ParseWaitRow(x.get(row)); return w }
	for _, c := range []struct {
		name  string
		spoil func(x *exhibit)
		want  string
	}{
		{"nothing", func(*exhibit) {}, ""},
		{"a key", func(x *exhibit) { x.set([]byte{layout.TableWaiting, 1}, []byte{0, 0}) }, "what waits: key of 2 bytes"},
		{"past the head", func(x *exhibit) { x.c.Head = 2 }, "head is 2"},
		{"another text", func(x *exhibit) {
			k := layout.WaitingKey(at(x).Seq)
			x.set(k, bytes.Replace(x.get(k), []byte(`"content":"c"`), []byte(`"content":"d"`), 1))
		}, nostr.ErrID.Error()},
		{"the event is gone", func(x *exhibit) { x.drop(layout.WaitingKey(at(x).Seq)) }, "rows of what waits: 1 there, 0 expected"},
		{"its row is gone", func(x *exhibit) { x.drop(row) }, "wait of " + waits.ID.String() + ": wrong"},
		{"its row names another entry", func(x *exhibit) { x.change(row, func(v []byte) { v[7]++ }) }, "wait of " + waits.ID.String() + ": wrong"},
		{"it waits for too long", func(x *exhibit) { x.change(row, func(v []byte) { v[16] = 1 }) }, "waits for longer than it lasts"},
		{"its end is missing", func(x *exhibit) { x.drop(layout.TimedKey(layout.TableWaitOver, 260, waits.ID)) }, "end of the wait of "},
		{"an end of nothing", func(x *exhibit) { x.set(layout.TimedKey(layout.TableWaitOver, 5, nostr.ID{1}), nil) }, "rows of what waits: 2 there, 1 expected"},
		{"not its author's", func(x *exhibit) { x.drop(layout.WaitAuthorKey(waits.PubKey, at(x).Seq)) }, "among what waits of its author: missing"},
		{"not announced", func(x *exhibit) { x.drop(layout.WaitRepositoryKey(layout.HashOf("w"), at(x).Seq)) }, "among the announcements that wait: missing"},
		{"not in its slot", func(x *exhibit) {
			x.change(layout.HashKey(layout.TableWaitSlot, layout.HashOf(waits.Address())), flipLast)
		}, "as the version that waits: wrong"},
		{"a slot of nothing", func(x *exhibit) {
			x.set(layout.HashKey(layout.TableWaitSlot, layout.HashOf("x")), layout.AppendStamp(nil, waits.Stamp()))
		}, "rows of what waits: 2 there, 1 expected"},
		{"unknown", func(x *exhibit) { x.drop(layout.IDKey(layout.TableRecord, waits.ID)) }, "record of " + waits.ID.String() + ", which waits: missing"},
		{"known and not there", func(x *exhibit) {
			x.set(layout.IDKey(layout.TableRecord, x.issue.ID), layout.Record{Facts: layout.FactsOf(x.issue).Kept(), Why: policy.Wait}.Append(nil))
		}, "wait of " + newExhibit().issue.ID.String() + ": missing"},
		{"deleted", func(x *exhibit) {
			x.set(layout.DeletedIDKey(waits.ID, waits.PubKey), binary.BigEndian.AppendUint64(nil, 300))
		}, "waits and is deleted"},
		{"vanished", func(x *exhibit) {
			x.set(layout.VanishedKey(waits.PubKey), layout.Vanishing{Until: 300, ID: nostr.ID{}}.Append(nil))
		}, "waits and is of an author who vanished"},
		{"superseded", func(x *exhibit) {
			x.set(layout.HashKey(layout.TableSlot, layout.HashOf(waits.Address())), layout.Slot{State: layout.SlotGone, Time: 300, ID: nostr.ID{1}}.Append(nil))
		}, "waits and is superseded"},
		{"counter", func(x *exhibit) { x.c.Waiting++ }, "counter of waiting: 2, counted 1"},
		{"counter of bytes", func(x *exhibit) { x.c.WaitingBytes-- }, "counter of bytes that wait: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newExhibit()
			x.again = func(b *store.Batch) {
				if out, err := b.Wait(waits, layout.Wait{Came: 200, Until: 260}); out != policy.Wait || err != nil {
					t.Fatal(out, err)
				}
			}
			r := spoilt(t, store.Options{Dir: "data", FS: vfs.NewMem()}, x, c.spoil)
			if c.want == "" && len(r.Problems) > 0 ||
				c.want != "" && !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("got %q, want %q", r.Problems, c.want)
			}
		})
	}
}

// TestOldFormats: a store of the format in which nothing waited, and one of that without rows, is opened with all that it has, and repaired,
// and is of the format of now from then on.
func TestOldFormats(t *testing.T) {
	for _, x := range []struct {
		format uint32
		repair bool
	}{{2, false}, {2, true}, {3, false}, {3, true}} {
		format, repair := x.format, x.repair
		o, x := store.Options{Dir: "data", FS: vfs.NewMem()}, newExhibit()
		s, err := store.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		x.fill(t, s)
		want := counted(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		behind(t, o, func(db *pebble.DB) error {
			c := want.Append(nil)
			if format == 2 {
				c = c[:len(c)-16]
			}
			return errors.Join(db.Set(layout.MetaKey(layout.MetaFormat), binary.BigEndian.AppendUint32(nil, format), pebble.Sync),
				db.Set(layout.MetaKey(layout.MetaCounters), c, pebble.Sync))
		})
		if repair {
			if r, err := Repair(t.Context(), o, CheckOptions{}); err != nil || len(r.Problems) > 0 {
				t.Errorf("%+v, %v", r, err)
			}
		}
		if s, err = store.Open(o); err != nil {
			t.Fatal(err)
		}
		if got := counted(s); got != want {
			t.Errorf("format %d, repaired %v: %+v, want %+v", format, repair, got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		behind(t, o, func(db *pebble.DB) error {
			v, _, err := index.Get(db, layout.MetaKey(layout.MetaFormat))
			if err == nil && binary.BigEndian.Uint32(v) != layout.FormatVersion {
				t.Errorf("still of format %d", binary.BigEndian.Uint32(v))
			}
			return err
		})
	}
}

func counted(s *store.Store) layout.Counters {
	v := s.View()
	defer v.Close()
	return v.Counters()
}

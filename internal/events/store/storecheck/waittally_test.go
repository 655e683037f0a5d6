package storecheck

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWaitsThatCannotBeTallied: a store whose rows of what waits contradict each other is refused as damaged, and a repair mends it.
func TestWaitsThatCannotBeTallied(t *testing.T) {
	announced, update := made(1, 100, nip34.KindRepository, nostr.Tag{"d", "x"}), made(2, 100, nip34.KindPullRequestUpdate)
	none := layout.WaitRow{Seq: 77}.Append(nil)
	for name, spoil := range map[string]func(b *pebble.Batch) error{
		"nothing":   func(*pebble.Batch) error { return nil },
		"no author": func(b *pebble.Batch) error { return b.Delete(layout.WaitAuthorKey(announced.PubKey, 1), nil) },
		"no row":    func(b *pebble.Batch) error { return b.Delete(layout.IDKey(layout.TableWait, announced.ID), nil) },
		"a row too short": func(b *pebble.Batch) error {
			return b.Set(layout.IDKey(layout.TableWait, nostr.ID{1}), none[:len(none)-1], nil)
		},
		"a row of nothing":      func(b *pebble.Batch) error { return b.Set(layout.IDKey(layout.TableWait, nostr.ID{1}), none, nil) },
		"an author's key":       func(b *pebble.Batch) error { return b.Set([]byte{layout.TableWaitAuthor, 1}, nil, nil) },
		"an announcement's key": func(b *pebble.Batch) error { return b.Set([]byte{layout.TableWaitRepository, 1}, nil, nil) },
		"announced nowhere":     func(b *pebble.Batch) error { return b.Delete(layout.WaitRepositoryKey(layout.HashOf("x"), 1), nil) },
		"no event":              func(b *pebble.Batch) error { return b.Delete(layout.WaitingKey(2), nil) },
		"an event's key":        func(b *pebble.Batch) error { return b.Set([]byte{layout.TableWaiting, 1}, []byte("\x00\x00{}"), nil) },
		"an event unknown": func(b *pebble.Batch) error {
			return b.Set(layout.WaitingKey(77), layout.AppendLog(nil, 0, update), nil)
		},
		"an event without a kind": func(b *pebble.Batch) error { return b.Set(layout.WaitingKey(2), []byte("\x00\x00{\"id\":\"\"}"), nil) },
		"an event too short":      func(b *pebble.Batch) error { return b.Set(layout.WaitingKey(2), []byte{0}, nil) },
		"an announcement unknown": func(b *pebble.Batch) error { return b.Set(layout.WaitRepositoryKey(layout.Hash{}, 77), nil, nil) },
	} {
		o := store.Options{Dir: "data", FS: vfs.NewMem()}
		s, err := store.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*nostr.Event{announced, update} {
			if out, err := b.Wait(e, layout.Wait{From: "a"}); out != policy.Wait || err != nil {
				t.Fatal(out, err)
			}
		}
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		behind(t, o, func(db *pebble.DB) error {
			w := db.NewBatch()
			return errors.Join(spoil(w), w.Commit(pebble.Sync))
		})
		s, err = store.Open(o)
		if want := name != "nothing"; errors.Is(err, kv.ErrDamaged) != want {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			err = s.Close()
		} else {
			_, err = Repair(t.Context(), o, CheckOptions{})
		}
		s, again := store.Open(o)
		if again != nil || err != nil {
			t.Errorf("%s, repaired: %v, %v", name, err, again)
			continue
		}
		if b, err = s.Begin(); err != nil {
			t.Fatal(err)
		}
		tally := b.WaitTally(announced.PubKey, "a")
		oldest, ok, err := b.OldestWait(store.WaitAnnouncements, announced.PubKey, "a")
		if tally.Announcements != 1 || !ok || oldest.Seq != 1 || err != nil {
			t.Errorf("%s, repaired: %+v, %+v, %v", name, tally, oldest, err)
		}
		b.Discard()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

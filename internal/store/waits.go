package store

import (
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Waiting is the event that waits under that id, as this batch has it; its Event is nil where it does not.
func (b *Batch) Waiting(id nostr.ID) (layout.Waiting, error) { return b.reader().Waiting(id) }

// Waiting is as Batch.Waiting, on this state.
func (v *View) Waiting(id nostr.ID) (layout.Waiting, error) { return v.Reader().Waiting(id) }

// WaitingAt is the stamp of the version that waits under an address ("kind:pubkey:d"), if there is one.
func (b *Batch) WaitingAt(address string) (nostr.Stamp, bool, error) {
	return b.reader().WaitSlot(layout.HashOf(address))
}

// WaitingAnnouncements are the announcements (kind 30617) with that d that wait, those that came first first, at most
// policy.MaxAnnouncements.
func (b *Batch) WaitingAnnouncements(d string) (list []*nostr.Event, err error) {
	err = b.EachWaitingAnnouncement(d, func(seq layout.Seq) error {
		e, err := b.WaitingEvent(seq)
		list = append(list, e)
		return err
	})
	return list, err
}

// EachWaitingAnnouncement calls do with the entries of what WaitingAnnouncements gives. A new version has an entry of its own.
func (b *Batch) EachWaitingAnnouncement(d string, do func(layout.Seq) error) error {
	if b.counters.Waiting == 0 {
		return nil
	}
	n := 0
	return b.reader().EachWait(layout.HashKey(layout.TableWaitRepository, layout.HashOf(d)), func(seq layout.Seq) (bool, error) {
		n++
		return n < policy.MaxAnnouncements, do(seq)
	})
}

// WaitingEvent is the event of an entry that waits.
func (b *Batch) WaitingEvent(seq layout.Seq) (*nostr.Event, error) {
	return b.reader().WaitingEvent(seq)
}

// EachWaitOf calls do with each event of an author that waits, those that came first first.
func (b *Batch) EachWaitOf(author nostr.PubKey, do func(layout.Waiting) error) error {
	r := b.reader()
	return r.EachWait(layout.IDKey(layout.TableWaitAuthor, nostr.ID(author)), func(seq layout.Seq) (bool, error) {
		w, err := r.WaitingNumber(seq)
		if err == nil {
			err = do(w)
		}
		return true, err
	})
}

// EachWait calls do with each event that waits, those that came first first.
func (v *View) EachWait(do func(layout.Waiting) error) error {
	r := v.Reader()
	return r.EachWait([]byte{layout.TableWaiting}, func(seq layout.Seq) (bool, error) {
		w, err := r.WaitingNumber(seq)
		if err == nil {
			err = do(w)
		}
		return true, err
	})
}

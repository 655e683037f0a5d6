package store

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// WaitingAnnouncements returns the announcements (kind 30617) with that d that wait, in the order in which they came, at most
// policy.MaxAnnouncements.
func (ws *waits) WaitingAnnouncements(d string) (list []*nostr.Event, err error) {
	err = ws.EachWaitingAnnouncement(d, func(seq layout.Seq) error {
		e, err := ws.WaitingEvent(seq)
		list = append(list, e)
		return err
	})
	return list, err
}

// EachWaitingAnnouncement calls do with the entries of the events that WaitingAnnouncements returns. A new version has an entry of its own.
func (ws *waits) EachWaitingAnnouncement(d string, do func(layout.Seq) error) error {
	if ws.counters.Waiting == 0 {
		return nil
	}
	return eachWaitingAnnouncement(ws.reader(), d, do)
}

func eachWaitingAnnouncement(r index.Reader, d string, do func(layout.Seq) error) error {
	n := 0
	return r.EachWait(layout.HashKey(layout.TableWaitRepository, layout.HashOf(d)), func(seq layout.Seq) (bool, error) {
		n++
		return n < policy.MaxAnnouncements, do(seq)
	})
}

// EachWaitingAnnouncement calls do with the entries of the announcements with that d that wait, as that of Batch does.
func (v *View) EachWaitingAnnouncement(d string, do func(layout.Seq) error) error {
	if v.st.counters.Waiting == 0 {
		return nil
	}
	return eachWaitingAnnouncement(v.Reader(), d, do)
}

// WaitingEvent returns the event of an entry that waits.
func (v *View) WaitingEvent(seq layout.Seq) (*nostr.Event, error) {
	return v.Reader().WaitingEvent(seq)
}

// WaitingEvent returns the event of an entry that waits.
func (ws *waits) WaitingEvent(seq layout.Seq) (*nostr.Event, error) {
	return ws.reader().WaitingEvent(seq)
}

// EachWaitOf calls do with each event of an author that waits, in the order in which they came.
func (ws *waits) EachWaitOf(author nostr.PubKey, do func(layout.Waiting) error) error {
	r := ws.reader()
	return r.EachWait(layout.IDKey(layout.TableWaitAuthor, nostr.ID(author)), func(seq layout.Seq) (bool, error) {
		w, err := r.WaitingNumber(seq)
		if err == nil {
			err = do(w)
		}
		return true, err
	})
}

// EachWait calls do with each event that waits, in the order in which they came.
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

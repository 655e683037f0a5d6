package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Wait keeps an event waiting.
func (b *modelBatch) Wait(e *nostr.Event, w store.Wait) (policy.Outcome, error) {
	if out, _ := b.Outcome(e); out != policy.Accept {
		return out, nil
	}
	if _, ok := b.waits[e.ID]; ok {
		return policy.Duplicate, nil
	}
	if old, ok := b.waitAt(e.Address()); ok && order(old.Event.CreatedAt, e.CreatedAt, old.Event.ID, e.ID) < 0 {
		return policy.Superseded, nil
	}
	b.ops++
	b.head++
	w.Until = untilOf(e, w.Until)
	seq := b.head
	delete(b.memory, e.ID)
	b.supersedeWait(e)
	b.waits[e.ID] = store.Waiting{Event: e, Seq: seq, Wait: w}
	return policy.Wait, nil
}

func untilOf(e *nostr.Event, until int64) int64 {
	if at, ok := e.Expiration(); ok {
		until = min(until, at)
	}
	return max(until, 0)
}

// waitAt is what waits under an address.
func (d *data) waitAt(address string) (store.Waiting, bool) {
	for _, w := range d.waits {
		if address != "" && w.Event.Address() == address {
			return w, true
		}
	}
	return store.Waiting{}, false
}

// supersedeWait ends the wait of an older version than e.
func (b *modelBatch) supersedeWait(e *nostr.Event) {
	if w, ok := b.waitAt(e.Address()); ok && order(w.Event.CreatedAt, e.CreatedAt, w.Event.ID, e.ID) > 0 {
		b.note(w.Event, policy.Superseded)
	}
}

// vanishWaits ends the waits of an author who vanishes.
func (b *modelBatch) vanishWaits(pk nostr.PubKey, until int64) {
	for _, w := range b.listWaits(func(w store.Waiting) bool { return w.Event.PubKey == pk && w.Event.CreatedAt <= until }) {
		b.note(w.Event, policy.Vanished)
	}
}

// listWaits lists what waits, in the order in which it came.
func (d *data) listWaits(which func(store.Waiting) bool) (list []store.Waiting) {
	for _, w := range d.waits {
		if which(w) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b store.Waiting) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// dropWait tells the feed.
func (b *modelBatch) dropWait(id nostr.ID, why policy.Outcome) {
	if _, ok := b.waits[id]; !ok {
		return
	}
	b.ops++
	b.head++
	delete(b.waits, id)
	reason := map[policy.Outcome]store.Reason{policy.Superseded: store.ReasonReplaced, policy.Deleted: store.ReasonDeleted,
		policy.Expired: store.ReasonExpired, policy.Vanished: store.ReasonVanished, policy.Lapsed: store.ReasonLapsed}[why]
	b.removed = append(b.removed, store.Entry{Seq: b.head, Removed: id, Reason: cmp.Or(reason, store.ReasonRefused)})
}

// EndWait ends a wait.
func (b *modelBatch) EndWait(id nostr.ID, why policy.Outcome) error {
	if w, ok := b.waits[id]; ok {
		b.dropWait(id, why)
		b.note(w.Event, why)
	}
	return nil
}

// Postpone sets another end.
func (b *modelBatch) Postpone(id nostr.ID, until int64) error {
	if w, ok := b.waits[id]; ok {
		b.ops++
		w.Until = untilOf(w.Event, until)
		b.waits[id] = w
	}
	return nil
}

// LapseDue ends what is over.
func (b *modelBatch) LapseDue(now time.Time, max int, skip func(nostr.ID) bool, keep func(*nostr.Event) bool) (next time.Time, n int, err error) {
	list := b.listWaits(func(store.Waiting) bool { return true })
	slices.SortFunc(list, func(x, y store.Waiting) int {
		return cmp.Or(cmp.Compare(x.Until, y.Until), x.Event.ID.Compare(y.Event.ID))
	})
	for _, w := range list {
		if w.Until > now.Unix() || n == max {
			break
		}
		why := policy.Lapsed
		n++
		if expired(w.Event, now.Unix()) {
			why = policy.Expired
		} else if keep != nil && keep(w.Event) {
			_ = b.Postpone(w.Event.ID, now.Add(store.KeptFor).Unix())
			continue
		}
		_ = b.EndWait(w.Event.ID, why)
	}
	for _, w := range b.listWaits(func(store.Waiting) bool { return true }) {
		if at := time.Unix(w.Until, 0); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, n, nil
}

// Waiting looks it up.
func (b *modelBatch) Waiting(id nostr.ID) (store.Waiting, error) { return b.waits[id], nil }

// Waiting looks it up.
func (v *modelView) Waiting(id nostr.ID) (store.Waiting, error) { return v.d.waits[id], nil }

// WaitingAt looks at every one.
func (b *modelBatch) WaitingAt(address string) (nostr.Stamp, bool, error) { return b.stampAt(address) }

// WaitingAt looks at every one.
func (v *modelView) WaitingAt(address string) (nostr.Stamp, bool, error) { return v.d.stampAt(address) }

func (d *data) stampAt(address string) (nostr.Stamp, bool, error) {
	w, ok := d.waitAt(address)
	if !ok {
		return nostr.Stamp{}, false, nil
	}
	return w.Event.Stamp(), true, nil
}

// WaitingAnnouncements looks at every one.
func (b *modelBatch) WaitingAnnouncements(d string) (list []*nostr.Event, err error) {
	for _, w := range b.listWaits(func(w store.Waiting) bool { return w.Event.Kind == nip34.KindRepository && w.Event.Tags.D() == d }) {
		list = append(list, w.Event)
	}
	return list[:min(len(list), policy.MaxAnnouncements)], nil
}

// EachWaitOf looks at every one.
func (b *modelBatch) EachWaitOf(author nostr.PubKey, do func(store.Waiting) error) error {
	return doAll(b.listWaits(func(w store.Waiting) bool { return w.Event.PubKey == author }), do)
}

// EachWait looks at every one.
func (v *modelView) EachWait(do func(store.Waiting) error) error {
	return doAll(v.d.listWaits(func(store.Waiting) bool { return true }), do)
}

func doAll(list []store.Waiting, do func(store.Waiting) error) error {
	for _, w := range list {
		if err := do(w); err != nil {
			return err
		}
	}
	return nil
}

package storetest

import (
	"cmp"
	"math"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Begin opens the batch.
func (m *model) Begin() (Batch, error) {
	if m.writing {
		return nil, store.ErrBusy
	}
	m.writing = true
	return &modelBatch{m: m, data: m.disk.data.clone()}, nil
}

type modelBatch struct {
	m *model
	*data
	ops    int
	lost   []string
	gone   []*nostr.Event
	closed bool
}

// Len counts what was done.
func (b *modelBatch) Len() int { return b.ops }

// Discard drops the copy.
func (b *modelBatch) Discard() {
	if !b.closed {
		b.closed, b.m.writing = true, false
	}
}

// Commit puts the copy in place.
func (b *modelBatch) Commit() (store.Seq, error) {
	if b.closed {
		return 0, store.ErrClosed
	}
	defer b.Discard()
	if b.ops == 0 {
		return b.m.Head(), nil
	}
	for range 1000 {
		if id, ok := b.oldest(); !ok || b.memory[id].due > b.m.now() {
			break
		} else {
			b.forget(id)
		}
	}
	changed := b.head != b.m.disk.data.head
	b.m.disk.data = b.data
	if changed {
		close(b.m.changed)
		b.m.changed = make(chan struct{})
	}
	return b.head, nil
}

// Outcome applies the rules.
func (b *modelBatch) Outcome(e *nostr.Event) (policy.Outcome, error) {
	if _, ok := b.events[e.ID]; ok {
		return policy.Duplicate, nil
	}
	if expired(e, b.m.now()) {
		return policy.Expired, nil
	}
	if b.isVanished(e) {
		return policy.Vanished, nil
	}
	if e.Kind != nostr.KindDeletion && e.Kind != nostr.KindVanish {
		if b.stands(b.deletedIDs[mark{e.ID, e.PubKey}]) {
			return policy.Deleted, nil
		}
		if b.isBeingDeleted(e) {
			return policy.Deleted, nil
		}
		if f := b.deletedAddresses[e.Address()]; b.stands(f) && e.CreatedAt <= f.time {
			return policy.Deleted, nil
		}
	}
	if v, ok := b.slots[e.Address()]; ok && order(v.time, e.CreatedAt, v.id, e.ID) < 0 {
		return policy.Superseded, nil
	}
	return policy.Accept, nil
}

// Add stores.
func (b *modelBatch) Add(e *nostr.Event, src store.Source) (policy.Outcome, error) {
	if out, _ := b.Outcome(e); out != policy.Accept {
		return out, nil
	}
	delete(b.memory, e.ID)
	delete(b.waits, e.ID)
	b.back(e.ID)
	b.ops++
	b.head++
	seq := b.head
	b.events[e.ID] = stored{e, seq, src}
	if a := e.Address(); a != "" {
		old, ok := b.slots[a]
		v := version{time: e.CreatedAt, id: e.ID, live: true, first: seq}
		if ok && old.live {
			v.first = old.first
		}
		b.slots[a] = v
		b.supersedeWait(e)
		b.release(old.id)
		if ok && old.id != e.ID {
			_ = b.Remove(old.id, store.ReasonReplaced)
		}
	}
	switch e.Kind {
	case nostr.KindDeletion:
		used := b.delete(stored{e, seq, src}, e.Tags, cmp.Or(b.m.opt.DeleteAtOnce, store.DeleteAtOnce))
		b.limitUnused(e, used)
	case nostr.KindVanish:
		b.vanished[e.PubKey] = request{e.CreatedAt, e.ID}
		b.vanishWaits(e.PubKey, e.CreatedAt)
		b.purges[e.PubKey] = e.CreatedAt
	}
	return policy.Accept, nil
}

// release makes what was remembered for ever an ordinary older version.
func (b *modelBatch) release(id nostr.ID) {
	if r, ok := b.memory[id]; ok && r.due == math.MaxInt64 {
		b.note(r.e, policy.Superseded)
	}
}

// Remove takes out.
func (b *modelBatch) Remove(id nostr.ID, why store.Reason) error {
	s, ok := b.events[id]
	if !ok {
		return nil
	}
	b.ops++
	b.head++
	delete(b.events, id)
	b.unfinished = slices.DeleteFunc(b.unfinished, func(l left) bool { return l.del.e.ID == id })
	delete(b.ages, id)
	b.removed = append(b.removed, store.Entry{Seq: b.head, Removed: id, Reason: why})
	if a := s.e.Address(); a == "" || b.slots[a].id == id {
		b.left(s.e)
	}
	if a := s.e.Address(); b.slots[a].id == id {
		v := b.slots[a]
		v.live, v.withdrawn = false, why == store.ReasonWithdrawn
		if s.e.Kind == nip34.KindRepository {
			b.lost = append(b.lost, s.e.Tags.D())
		}
		b.slots[a] = v
		if why == store.ReasonVanished {
			delete(b.slots, a)
		}
	}
	if why == store.ReasonVanished && s.e.Kind == nostr.KindDeletion {
		b.undelete(s.e)
	}
	if b.vanished[s.e.PubKey].id == id {
		delete(b.vanished, s.e.PubKey)
		delete(b.purges, s.e.PubKey)
	}
	out := map[store.Reason]policy.Outcome{store.ReasonDeleted: policy.Deleted, store.ReasonReplaced: policy.Superseded,
		store.ReasonExpired: policy.Expired, store.ReasonVanished: policy.Vanished, store.ReasonWithdrawn: policy.Withdraw, store.ReasonUnused: policy.Unused}[why]
	b.note(s.e, out)
	return nil
}

// Remember keeps what is needed to find the event.
func (b *modelBatch) Remember(e *nostr.Event, why policy.Outcome) error {
	if _, ok := b.events[e.ID]; ok {
		return nil
	}
	a := e.Address()
	v, ok := b.slots[a]
	if why == policy.Deleted {
		b.usedMarks(e)
	}
	switch {
	case why == policy.Withdraw && a == "":
		why = policy.Refuse
	case why == policy.Withdraw && ok && order(v.time, e.CreatedAt, v.id, e.ID) < 0:
		why = policy.Superseded
	case why == policy.Withdraw:
		_ = b.Remove(v.id, store.ReasonReplaced)
		if v.id != e.ID {
			b.release(v.id)
		}
		b.ops++
		b.slots[a] = version{time: e.CreatedAt, id: e.ID, withdrawn: true}
		b.supersedeWait(e)
	case (why == policy.Refuse || why.Orphan()) && ok && v.withdrawn && v.id == e.ID:
		why = policy.Withdraw
	}
	b.note(e, why)
	return nil
}

package store

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// memory is the part of a batch that has what is remembered of events that are not stored: records, their rows, and the queue in which
// they are forgotten.
type memory struct {
	*draft
	waits *waits
	marks *marks

	queueFrom int64 // nothing in the queue is due before this; the store's own once committed
}

// forgetPerCommit is how many due records are forgotten in one commit.
const forgetPerCommit = 1000

// Remember keeps the index rows of a genuine event that is not stored, without its body, so that no reconciliation fetches it again.
// Remember takes Refuse, orphans, Superseded, Deleted, Expired, Vanished and Withdraw, and no other outcome. With Withdraw the event also
// takes the place of the older version held here: Remember removes that one, and the event is never forgotten while it is the newest. Of
// the tags Remember keeps only a, A, q, e, E and d, and of these the first 64; it does not remember an orphan with more. Past the bounds of
// Options it forgets the oldest.
func (b *Batch) Remember(e *nostr.Event, why policy.Outcome) error {
	err := func() error {
		_, _, stored, err := b.reader().Lookup(e.ID)
		if err != nil || stored {
			return err
		}
		switch why {
		case policy.Withdraw:
			why, err = b.withdraw(e)
		case policy.Refuse, policy.Unlisted, policy.Unrelated, policy.NoMaintainer:
			why, err = b.stillWithdrawn(e, why)
		case policy.Deleted:
			err = b.marks.usedMarks(e)
		}
		if err != nil {
			return err
		}
		return b.memory.writeRemembered(e, why)
	}()
	if err != nil {
		return fmt.Errorf("remember %s: %w", e.ID, err)
	}
	return nil
}

// stillWithdrawn is Withdraw where e is the newest version of its address and was withdrawn before.
func (b *Batch) stillWithdrawn(e *nostr.Event, why policy.Outcome) (policy.Outcome, error) {
	address := e.Address()
	if address == "" {
		return why, nil
	}
	s, ok, err := b.reader().Slot(layout.HashOf(address))
	if err == nil && ok && s.State == layout.SlotWithdrawn && s.ID == e.ID {
		return policy.Withdraw, nil
	}
	return why, err
}

// withdraw puts e into its slot as a version that is not served.
func (b *Batch) withdraw(e *nostr.Event) (policy.Outcome, error) {
	address := e.Address()
	if address == "" {
		return policy.Refuse, nil
	}
	h := layout.HashOf(address)
	old, ok, err := b.reader().Slot(h)
	if err != nil {
		return 0, err
	}
	if ok && old.Stamp().Newer(e.Stamp()) {
		return policy.Superseded, nil
	}
	if ok && old.State == layout.SlotLive {
		if err := b.Remove(old.ID, layout.ReasonReplaced); err != nil {
			return 0, err
		}
	}
	if ok && old.State == layout.SlotWithdrawn && old.ID != e.ID {
		if err := b.memory.unpin(old.ID); err != nil {
			return 0, err
		}
	}
	if err := b.waits.supersedeWait(h, e); err != nil {
		return 0, err
	}
	b.ops++
	s := layout.Slot{State: layout.SlotWithdrawn, Time: e.CreatedAt, ID: e.ID}
	return policy.Withdraw, b.set(layout.HashKey(layout.TableSlot, h), s.Append(nil))
}

func (m *memory) writeRemembered(e *nostr.Event, why policy.Outcome) error {
	if _, ok := layout.EncodeWhy(why); !ok {
		return nil
	}
	f := layout.FactsOf(e).Kept()
	if len(f.Tags) > layout.MaxKeptTags {
		if why.Orphan() {
			return nil
		}
		f.Tags = f.Tags[:layout.MaxKeptTags]
	}
	m.ops++
	if why == policy.Unused {
		var err error
		if why, err = m.marks.agedAs(e.PubKey); err != nil {
			return err
		}
	}
	return m.writeRecord(layout.Record{Facts: f, Why: why})
}

// writeRecord writes a record and its rows over what may be there. It sets when the record is due and its epoch.
func (m *memory) writeRecord(r layout.Record) error {
	if err := m.waits.dropWaiting(r.ID, layout.ReasonOf(r.Why)); err != nil {
		return err
	}
	if err := m.dropRecord(r.ID); err != nil {
		return err
	}
	r.Epoch = 0
	if layout.ByRules(r.Why) {
		r.Epoch = m.epoch
	}
	r.Due = 0
	if r.Why != policy.Withdraw {
		r.Due = m.s.opt.Now().Unix() + r.KeptFor()
	}
	if err := m.putRecord(r); err != nil {
		return err
	}
	return m.forgetSurplus()
}

// putRecord writes a record as it is, with its rows; there is none of that event.
func (m *memory) putRecord(r layout.Record) error {
	if r.Due != 0 {
		m.queueFrom = min(m.queueFrom, r.Due)
		if err := m.set(layout.TimedKey(layout.TableQueue, r.Due, r.ID), nil); err != nil {
			return err
		}
	}
	m.countRecord(r, 1)
	if err := m.marks.countAged(r, 1); err != nil {
		return err
	}
	if err := m.set(layout.IDKey(layout.TableRecord, r.ID), r.Append(nil)); err != nil {
		return err
	}
	value := r.Row().Append(make([]byte, 0, layout.MaxRow))
	return r.EachRow(func(p []byte, of layout.Cases) error {
		return m.set(layout.AppendOrder(layout.Flagged(p), r.Time, r.ID), of.Append(value))
	})
}

// dropRecord forgets an event, if it is remembered.
func (m *memory) dropRecord(id nostr.ID) error {
	r, ok, err := m.reader().Record(id)
	if err != nil || !ok {
		return err
	}
	if err := m.marks.countAged(r, -1); err != nil {
		return err
	}
	m.countRecord(r, -1)
	if r.Due != 0 {
		if err := m.delete(layout.TimedKey(layout.TableQueue, r.Due, id)); err != nil {
			return err
		}
	}
	if err := m.delete(layout.IDKey(layout.TableRecord, id)); err != nil {
		return err
	}
	return r.EachRow(func(p []byte, _ layout.Cases) error {
		return m.delete(layout.AppendOrder(layout.Flagged(p), r.Time, id))
	})
}

// countRecord counts a record that comes (1) or goes (-1). It leaves out the record of an event that waits, which the counter of waits has.
func (m *memory) countRecord(r layout.Record, n int64) {
	if r.Why != policy.Wait {
		m.counters.Flagged += n
		m.counters.FlaggedRows += n * r.Rows()
	}
}

// forgetSurplus keeps MaxRemembered and MaxRememberedRows: what is due first is forgotten first.
func (m *memory) forgetSurplus() error {
	for m.counters.Flagged > m.s.opt.MaxRemembered || m.counters.FlaggedRows > m.s.opt.MaxRememberedRows {
		n, err := m.forgetQueued(1<<62, 1)
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}

// forgetDue forgets up to forgetPerCommit records whose time has come.
func (m *memory) forgetDue() error {
	_, err := m.forgetQueued(m.s.opt.Now().Unix(), forgetPerCommit)
	return err
}

// forgetQueued forgets up to max events that are due until then.
func (m *memory) forgetQueued(until int64, max int) (n int, err error) {
	if m.queueFrom > until {
		return 0, nil
	}
	ids, next, err := m.timed(layout.TableQueue, m.queueFrom, until, max, nil)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := m.forget(id); err != nil {
			return n, err
		}
		n++
	}
	m.queueFrom = next
	return n, nil
}

// forget drops a record, and for an event that expired also the slot that it still has: only what is stored may keep a slot beyond
// its record.
func (m *memory) forget(id nostr.ID) error {
	r, ok, err := m.reader().Record(id)
	if err != nil || !ok {
		return err
	}
	m.ops++
	if r.Why == policy.Expired && r.Address != (layout.Hash{}) {
		s, ok, err := m.reader().Slot(r.Address)
		if err != nil {
			return err
		}
		if ok && s.State == layout.SlotGone && s.ID == id {
			if err := m.delete(layout.HashKey(layout.TableSlot, r.Address)); err != nil {
				return err
			}
		}
	}
	return m.dropRecord(id)
}

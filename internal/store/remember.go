package store

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// How long an event is remembered that is not stored: 7 days and up to one more by its id, so that what was refused
// together does not come back together. What has waited for git data in vain is remembered for a day, and up to an hour more: then other
// relays may bring it again, as the data may be there by now. How long unused deletions are remembered says UnusedGate.
const (
	rememberSeconds = 7 * 24 * 3600
	rememberSpread  = 24 * 3600
	lapsedSeconds   = 24 * 3600
	lapsedSpread    = 3600
)

// forgetPerCommit is how many due records are forgotten in one commit.
const forgetPerCommit = 1000

// Remember keeps the index rows of a genuine event that is not stored, without its body, so that no reconciliation
// fetches it again: for Refuse, orphans, Superseded, Deleted, Expired, Vanished and Withdraw; other outcomes are not
// remembered. With Withdraw the event also takes the place of the older version held here, which is removed, and it is
// never forgotten while it is the newest. Of the tags only a, A, q, e, E and d are kept, and of these the first 64; an
// orphan with more is not remembered. Past the bounds of Options the oldest are forgotten.
func (b *Batch) Remember(e *nostr.Event, why policy.Outcome) error {
	err := func() error {
		_, _, stored, err := b.reader().lookup(e.ID)
		if err != nil || stored {
			return err
		}
		switch why {
		case policy.Withdraw:
			why, err = b.withdraw(e)
		case policy.Refuse, policy.Unlisted, policy.Unrelated, policy.NoMaintainer:
			why, err = b.stillWithdrawn(e, why)
		case policy.Deleted:
			err = b.usedMarks(e)
		}
		if err != nil {
			return err
		}
		return b.remember(e, why)
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
	s, ok, err := b.reader().slot(hashOf(address))
	if err == nil && ok && s.state == slotWithdrawn && s.id == e.ID {
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
	h := hashOf(address)
	old, ok, err := b.reader().slot(h)
	if err != nil {
		return 0, err
	}
	if ok && old.stamp().Newer(e.Stamp()) {
		return policy.Superseded, nil
	}
	if ok && old.state == slotLive {
		if err := b.Remove(old.id, ReasonReplaced); err != nil {
			return 0, err
		}
	}
	if ok && old.state == slotWithdrawn && old.id != e.ID {
		if err := b.unpin(old.id); err != nil {
			return 0, err
		}
	}
	if err := b.supersedeWait(h, e); err != nil {
		return 0, err
	}
	b.ops++
	s := slot{state: slotWithdrawn, time: e.CreatedAt, id: e.ID}
	return policy.Withdraw, b.set(keyHash(tableSlot, h), s.append(nil))
}

func (b *Batch) remember(e *nostr.Event, why policy.Outcome) error {
	if _, ok := encodeWhy(why); !ok {
		return nil
	}
	f := factsOf(e).kept()
	if len(f.tags) > maxKeptTags {
		if why.Orphan() {
			return nil
		}
		f.tags = f.tags[:maxKeptTags]
	}
	b.ops++
	if why == policy.Unused {
		var err error
		if why, err = b.agedAs(e.PubKey); err != nil {
			return err
		}
	}
	return b.writeRecord(record{facts: f, why: why})
}

// writeRecord writes a record and its rows over what may be there. It sets when the record is due and its epoch.
func (b *Batch) writeRecord(r record) error {
	if err := b.endWait(r.id, reasonOf(r.why)); err != nil {
		return err
	}
	if err := b.dropRecord(r.id); err != nil {
		return err
	}
	r.epoch = 0
	if byRules(r.why) {
		r.epoch = b.epoch
	}
	r.due = 0
	if r.why != policy.Withdraw {
		r.due = b.s.opt.Now().Unix() + r.keptFor()
	}
	if err := b.putRecord(r); err != nil {
		return err
	}
	return b.forgetSurplus()
}

// keptFor is how many seconds a record is kept that is forgotten some time.
func (r record) keptFor() int64 {
	n := binary.BigEndian.Uint32(r.id[28:])
	switch r.why {
	case policy.Lapsed:
		return lapsedSeconds + int64(n%lapsedSpread)
	case policy.Unused:
		return unusedGate + int64(n%rememberSpread)
	}
	return rememberSeconds + int64(n%rememberSpread)
}

// madeAt is the unix time at which a record was made that is forgotten some time.
func (r record) madeAt() int64 { return r.due - r.keptFor() }

// putRecord writes a record as it is, with its rows; there is none of that event.
func (b *Batch) putRecord(r record) error {
	if r.due != 0 {
		b.queueFrom = min(b.queueFrom, r.due)
		if err := b.set(timedKey(tableQueue, r.due, r.id), nil); err != nil {
			return err
		}
	}
	b.countRecord(r, 1)
	if err := b.countAged(r, 1); err != nil {
		return err
	}
	if err := b.set(keyID(tableRecord, r.id), r.append(nil)); err != nil {
		return err
	}
	value := r.row().append(make([]byte, 0, maxRow))
	return r.eachRow(func(p []byte, of cases) error {
		return b.set(appendOrder(flagged(p), r.time, r.id), of.append(value))
	})
}

// dropRecord forgets an event, if it is remembered.
func (b *Batch) dropRecord(id nostr.ID) error {
	r, ok, err := b.reader().record(id)
	if err != nil || !ok {
		return err
	}
	b.countRecord(r, -1)
	if err := b.countAged(r, -1); err != nil {
		return err
	}
	if r.due != 0 {
		if err := b.delete(timedKey(tableQueue, r.due, id)); err != nil {
			return err
		}
	}
	if err := b.delete(keyID(tableRecord, id)); err != nil {
		return err
	}
	return r.eachRow(func(p []byte, _ cases) error {
		return b.delete(appendOrder(flagged(p), r.time, id))
	})
}

// countRecord counts a record that comes or goes. Those of what waits are counted with it.
func (b *Batch) countRecord(r record, n int64) {
	if r.why != policy.Wait {
		b.counters.flagged += n
		b.counters.flaggedRows += n * r.rows()
	}
}

// forgetSurplus keeps the bounds: the oldest go first.
func (b *Batch) forgetSurplus() error {
	for b.counters.flagged > b.s.opt.MaxRemembered || b.counters.flaggedRows > b.s.opt.MaxRememberedRows {
		n, err := b.forgetQueued(1<<62, 1)
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}

// forgetDue forgets some of those whose time has come.
func (b *Batch) forgetDue() error {
	_, err := b.forgetQueued(b.s.opt.Now().Unix(), forgetPerCommit)
	return err
}

// forgetQueued forgets up to max events that are due until then.
func (b *Batch) forgetQueued(until int64, max int) (n int, err error) {
	if b.queueFrom > until {
		return 0, nil
	}
	ids, next, err := b.timed(tableQueue, b.queueFrom, until, max)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := b.forget(id); err != nil {
			return n, err
		}
		n++
	}
	b.queueFrom = next
	return n, nil
}

// forget drops a record, and with an event that expired the slot that it still holds: what outlives a record must be
// paid for by something that is stored.
func (b *Batch) forget(id nostr.ID) error {
	r, ok, err := b.reader().record(id)
	if err != nil || !ok {
		return err
	}
	b.ops++
	if r.why == policy.Expired && r.address != (hash{}) {
		s, ok, err := b.reader().slot(r.address)
		if err != nil {
			return err
		}
		if ok && s.state == slotGone && s.id == id {
			if err := b.delete(keyHash(tableSlot, r.address)); err != nil {
				return err
			}
		}
	}
	return b.dropRecord(id)
}

package store

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// released is why a wait ends with the event in the log.
const released = layout.Reason(0)

// Wait keeps an event that is not served until its git data is here, if the store's rules have nothing against it, and says what they
// said: Wait, or what Judge says, or Duplicate where the event waits already, or Superseded where a newer version of its address waits. An
// older version that waits gives way; the version that is served stays. Add releases it. What is known of an event that waits is
// what is known of one that is remembered, so our own reconciliations do not fetch it.
func (b *Batch) Wait(e *nostr.Event, w layout.Wait) (policy.Outcome, error) {
	out, err := b.Judge(e)
	if err == nil && out == policy.Accept {
		out, err = b.judgeBy(e, index.IsWaiting, index.IsOutwaited)
	}
	if err == nil && out == policy.Accept {
		out, err = policy.Wait, b.insertWaiting(e, b.next(), w)
	}
	if err != nil {
		return 0, fmt.Errorf("keep %s waiting: %w", e.ID, err)
	}
	return out, nil
}

func (b *Batch) insertWaiting(e *nostr.Event, seq layout.Seq, w layout.Wait) error {
	if err := b.dropRecord(e.ID); err != nil {
		return err
	}
	b.ops++
	b.counters.Waiting++
	b.s.scratch = layout.AppendLog(b.s.scratch[:0], w.Source, e)
	b.counters.WaitingBytes += int64(len(b.s.scratch) - layout.LogHeader)
	if err := b.set(layout.WaitingKey(seq), b.s.scratch); err != nil {
		return err
	}
	b.entries = append(b.entries, layout.Entry{Seq: seq, Waits: e, Source: w.Source})
	waits := layout.Waiting{Event: e, Seq: seq, Wait: w}
	b.tallyWait(waits)
	if err := b.setWait(waits); err != nil {
		return err
	}
	if err := b.set(layout.WaitAuthorKey(e.PubKey, seq), nil); err != nil {
		return err
	}
	if e.Kind == nip34.KindRepository {
		if err := b.set(layout.WaitRepositoryKey(layout.HashOf(e.Tags.D()), seq), nil); err != nil {
			return err
		}
	}
	if address := e.Address(); address != "" {
		h := layout.HashOf(address)
		if err := b.supersedeWait(h, e); err != nil {
			return err
		}
		if err := b.set(layout.HashKey(layout.TableWaitSlot, h), layout.AppendStamp(nil, e.Stamp())); err != nil {
			return err
		}
	}
	f := layout.FactsOf(e).Kept()
	f.Tags = f.Tags[:min(len(f.Tags), layout.MaxKeptTags)]
	return b.putRecord(layout.Record{Facts: f, Why: policy.Wait})
}

// setWait writes how an event waits, and its place in the order in which waits are over.
func (b *Batch) setWait(w layout.Waiting) error {
	if at, ok := w.Event.Expiration(); ok {
		w.Until = min(w.Until, at)
	}
	w.Until = max(w.Until, 0)
	b.waitFrom = min(b.waitFrom, w.Until)
	if err := b.set(layout.TimedKey(layout.TableWaitOver, w.Until, w.Event.ID), nil); err != nil {
		return err
	}
	return b.set(layout.IDKey(layout.TableWait, w.Event.ID), layout.WaitRow{Seq: w.Seq, Came: w.Came, Until: w.Until, From: w.From}.Append(nil))
}

// Postpone lets an event that waits do so until then. It does nothing to any other.
func (b *Batch) Postpone(id nostr.ID, until int64) error {
	w, err := b.findWaiting(id)
	if err == nil && w.Event != nil {
		if err = b.delete(layout.TimedKey(layout.TableWaitOver, w.Until, id)); err == nil {
			b.ops++
			w.Until = until
			err = b.setWait(w)
		}
	}
	if err != nil {
		return fmt.Errorf("postpone the wait of %s: %w", id, err)
	}
	return nil
}

// EndWait ends the wait of an event without its being served, and remembers why, if that is remembered. It does nothing to an event
// that does not wait.
func (b *Batch) EndWait(id nostr.ID, why policy.Outcome) error {
	w, err := b.findWaiting(id)
	if err == nil && w.Event != nil {
		if err = b.dropWaiting(id, layout.ReasonOf(why)); err == nil {
			err = b.writeRemembered(w.Event, why)
		}
	}
	if err != nil {
		return fmt.Errorf("end the wait of %s: %w", id, err)
	}
	return nil
}

// findWaiting is Waiting, at no cost where nothing waits.
func (b *Batch) findWaiting(id nostr.ID) (layout.Waiting, error) {
	if b.counters.Waiting == 0 {
		return layout.Waiting{}, nil
	}
	return b.reader().Waiting(id)
}

// KeptFor is for how long a wait goes on that is over and is kept, before it is looked at again.
const KeptFor = time.Minute

// LapseDue ends up to max waits that are over by now, the longest over first, but for those that keep says are to go on; nil keeps none.
// What expires ends in any case. It says how many it looked at, and when the next one is over: at once where there are more, the zero time
// where nothing waits.
func (b *Batch) LapseDue(now time.Time, max int, keep func(*nostr.Event) bool) (next time.Time, n int, err error) {
	ids, from, err := b.timed(layout.TableWaitOver, b.waitFrom, now.Unix(), max)
	if err != nil {
		return next, 0, fmt.Errorf("end waits: %w", err)
	}
	for _, id := range ids {
		why := policy.Lapsed
		w, err := b.Waiting(id)
		if err == nil && w.Event == nil {
			err = fmt.Errorf("end of the wait of %s: %w", id, layout.ErrCorrupt)
		}
		if err != nil {
			return next, n, fmt.Errorf("end waits: %w", err)
		}
		n++
		at, ok := w.Event.Expiration()
		if ok && at <= now.Unix() {
			why = policy.Expired
		} else if keep != nil && keep(w.Event) {
			until := now.Add(KeptFor).Unix()
			if err := b.Postpone(id, until); err != nil {
				return next, n, err
			}
			if ok {
				until = min(until, at)
			}
			from = min(from, until)
			continue
		}
		if err := b.EndWait(id, why); err != nil {
			return next, n, err
		}
	}
	b.waitFrom = from
	if b.ops == 0 { // it holds for the store, whatever becomes of the batch
		b.s.waitFrom = from
	}
	if b.counters.Waiting > 0 {
		next = time.Unix(from, 0)
	}
	return next, n, nil
}

// WaitsUntil returns a unix time before which no wait is over, the largest number where nothing waits. It reads nothing. Only
// the goroutine that begins batches may call it, while none is open.
func (s *Store) WaitsUntil() int64 { return s.waitFrom }

// dropWaiting takes away everything of an event that waits.
func (b *Batch) dropWaiting(id nostr.ID, why layout.Reason) error {
	w, err := b.findWaiting(id)
	if err != nil || w.Event == nil {
		return err
	}
	e := w.Event
	b.ops++
	b.tallyEnd(w)
	b.counters.Waiting--
	b.counters.WaitingBytes -= int64(len(e.AppendJSON(nil)))
	keys := [][]byte{layout.WaitingKey(w.Seq), layout.IDKey(layout.TableWait, id), layout.TimedKey(layout.TableWaitOver, w.Until, id), layout.WaitAuthorKey(e.PubKey, w.Seq)}
	if e.Kind == nip34.KindRepository {
		keys = append(keys, layout.WaitRepositoryKey(layout.HashOf(e.Tags.D()), w.Seq))
	}
	if address := e.Address(); address != "" {
		h := layout.HashOf(address)
		if s, ok, err := b.reader().WaitSlot(h); err != nil {
			return err
		} else if ok && s.ID == id {
			keys = append(keys, layout.HashKey(layout.TableWaitSlot, h))
		}
	}
	for _, k := range keys {
		if err := b.delete(k); err != nil {
			return err
		}
	}
	b.dropEntry(w.Seq)
	if err := b.dropRecord(id); err != nil || why == released {
		return err
	}
	seq := b.next()
	if err := b.set(layout.RemovedKey(seq), layout.AppendRemoved(nil, id, why)); err != nil {
		return err
	}
	b.entries = append(b.entries, layout.Entry{Seq: seq, Removed: id, Reason: why})
	return nil
}

// supersedeWait ends the wait of an older version than e under its address.
func (b *Batch) supersedeWait(address layout.Hash, e *nostr.Event) error {
	if b.counters.Waiting == 0 {
		return nil
	}
	s, ok, err := b.reader().WaitSlot(address)
	if err != nil || !ok || s.ID == e.ID || !e.Stamp().Newer(s) {
		return err
	}
	return b.EndWait(s.ID, policy.Superseded)
}

// vanishWaits ends the waits of an author's events up to then. There are few of one author.
func (b *Batch) vanishWaits(author nostr.PubKey, until int64) error {
	var gone []nostr.ID
	err := b.EachWaitOf(author, func(w layout.Waiting) error {
		if w.Event.CreatedAt <= until {
			gone = append(gone, w.Event.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range gone {
		if err := b.EndWait(id, policy.Vanished); err != nil {
			return err
		}
	}
	return nil
}

// waitsFor is the event of that id and author, if it waits and a deletion concerns it; else nil.
func (b *Batch) waitsFor(id nostr.ID, author nostr.PubKey) (*nostr.Event, error) {
	w, err := b.findWaiting(id)
	if err != nil || w.Event == nil || w.Event.PubKey != author || !layout.Deletable(w.Event.Kind) {
		return nil, err
	}
	return w.Event, nil
}

// waitsAt is the event that waits under an address and is no newer than until; nil where there is none.
func (b *Batch) waitsAt(address layout.Hash, until int64) (*nostr.Event, error) {
	if b.counters.Waiting == 0 {
		return nil, nil
	}
	s, ok, err := b.reader().WaitSlot(address)
	if err != nil || !ok || s.CreatedAt > until {
		return nil, err
	}
	w, err := b.findWaiting(s.ID)
	return w.Event, err
}

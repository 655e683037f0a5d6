package store

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// waits is the part of a batch that has the events which wait for git data: their keys, the order in which they lapse, and the tally of them.
type waits struct {
	*draft
	memory *memory

	waitFrom int64    // no wait is over before this; the store's own once committed
	untally  []func() // takes back what the batch has done to the tally, the last first
}

// released is why a wait ends with the event in the log.
const released = layout.Reason(0)

// Wait keeps an event that is not served until its git data is here, if the store's rules have nothing against it. Wait returns Wait, or
// what Outcome says, or Duplicate where the event waits already, or Superseded where a newer version at its address waits. An older version
// that waits gives way; the version that is served stays. Add ends the wait. To reconciliations a waiting event is known as a remembered
// one is, so that graspd does not fetch it.
func (b *Batch) Wait(e *nostr.Event, w layout.Wait) (policy.Outcome, error) {
	out, err := b.Outcome(e)
	if err == nil && out == policy.Accept {
		out, err = b.outcomeBy(e, index.IsWaiting, index.IsOutwaited)
	}
	if err == nil && out == policy.Accept {
		out, err = policy.Wait, b.waits.insert(e, b.next(), w)
	}
	if err != nil {
		return 0, fmt.Errorf("keep %s waiting: %w", e.ID, err)
	}
	return out, nil
}

// insert has an event wait, as entry seq.
func (ws *waits) insert(e *nostr.Event, seq layout.Seq, w layout.Wait) error {
	if err := ws.memory.dropRecord(e.ID); err != nil {
		return err
	}
	ws.ops++
	ws.counters.Waiting++
	ws.s.scratch = layout.AppendLog(ws.s.scratch[:0], w.Source, e)
	ws.counters.WaitingBytes += int64(len(ws.s.scratch) - layout.LogHeader)
	if err := ws.set(layout.WaitingKey(seq), ws.s.scratch); err != nil {
		return err
	}
	ws.entries = append(ws.entries, layout.Entry{Seq: seq, Waits: e, Source: w.Source})
	waits := layout.Waiting{Event: e, Seq: seq, Wait: w}
	ws.tallyWait(waits)
	if err := ws.setWait(waits); err != nil {
		return err
	}
	if err := ws.set(layout.WaitAuthorKey(e.PubKey, seq), nil); err != nil {
		return err
	}
	if e.Kind == nip34.KindRepository {
		if err := ws.set(layout.WaitRepositoryKey(layout.HashOf(e.Tags.D()), seq), nil); err != nil {
			return err
		}
	}
	if address := e.Address(); address != "" {
		h := layout.HashOf(address)
		if err := ws.supersedeWait(h, e); err != nil {
			return err
		}
		if err := ws.set(layout.HashKey(layout.TableWaitSlot, h), layout.AppendStamp(nil, e.Stamp())); err != nil {
			return err
		}
	}
	f := layout.FactsOf(e).Kept()
	f.Tags = f.Tags[:min(len(f.Tags), layout.MaxKeptTags)]
	return ws.memory.putRecord(layout.Record{Facts: f, Why: policy.Wait})
}

// setWait writes how an event waits, and its place in the order in which waits are over.
func (ws *waits) setWait(w layout.Waiting) error {
	if at, ok := w.Event.Expiration(); ok {
		w.Until = min(w.Until, at)
	}
	w.Until = max(w.Until, 0)
	ws.waitFrom = min(ws.waitFrom, w.Until)
	if err := ws.set(layout.TimedKey(layout.TableWaitOver, w.Until, w.Event.ID), nil); err != nil {
		return err
	}
	return ws.set(layout.IDKey(layout.TableWait, w.Event.ID), layout.WaitRow{Seq: w.Seq, Came: w.Came, Until: w.Until, From: w.From}.Append(nil))
}

// Postpone lets a waiting event wait until a unix time, or until it expires where that is earlier. Postpone does nothing to any other
// event.
func (ws *waits) Postpone(id nostr.ID, until int64) error {
	w, err := ws.findWaiting(id)
	if err == nil && w.Event != nil {
		if err = ws.delete(layout.TimedKey(layout.TableWaitOver, w.Until, id)); err == nil {
			ws.ops++
			w.Until = until
			err = ws.setWait(w)
		}
	}
	if err != nil {
		return fmt.Errorf("postpone the wait of %s: %w", id, err)
	}
	return nil
}

// EndWait ends the wait of an event that will not be served, and remembers why, if why is an outcome that is remembered. EndWait does
// nothing to an event that does not wait.
func (ws *waits) EndWait(id nostr.ID, why policy.Outcome) error {
	w, err := ws.findWaiting(id)
	if err == nil && w.Event != nil {
		if err = ws.dropWaiting(id, layout.ReasonOf(why)); err == nil {
			err = ws.memory.writeRemembered(w.Event, why)
		}
	}
	if err != nil {
		return fmt.Errorf("end the wait of %s: %w", id, err)
	}
	return nil
}

// findWaiting is the event that waits under that id; its Event is nil where none does. It reads nothing where nothing waits at all.
func (ws *waits) findWaiting(id nostr.ID) (layout.Waiting, error) {
	if ws.counters.Waiting == 0 {
		return layout.Waiting{}, nil
	}
	return ws.reader().Waiting(id)
}

// KeptFor is how long a wait goes on that is over and that LapseDue keeps, until LapseDue looks at it again.
const KeptFor = time.Minute

// LapseDue ends up to max waits whose time is over, the longest over first. A wait goes on where keep returns true, unless its event
// expires; with a nil keep none goes on. LapseDue looks at none of which skip returns true. LapseDue returns how many waits it has looked at,
// and when the next one is over: at once where there are more, the zero time where nothing waits.
func (ws *waits) LapseDue(now time.Time, max int, skip func(nostr.ID) bool, keep func(*nostr.Event) bool) (next time.Time, n int, err error) {
	ids, from, err := ws.timed(layout.TableWaitOver, ws.waitFrom, now.Unix(), max, skip)
	if err != nil {
		return next, 0, fmt.Errorf("end waits: %w", err)
	}
	for _, id := range ids {
		why := policy.Lapsed
		w, err := ws.reader().Waiting(id)
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
			if err := ws.Postpone(id, until); err != nil {
				return next, n, err
			}
			if ok {
				until = min(until, at)
			}
			from = min(from, until)
			continue
		}
		if err := ws.EndWait(id, why); err != nil {
			return next, n, err
		}
	}
	ws.waitFrom = from
	if ws.ops == 0 { // it holds for the store, whatever becomes of the batch
		ws.s.waitFrom = from
	}
	if ws.counters.Waiting > 0 {
		next = time.Unix(from, 0)
	}
	return next, n, nil
}

// WaitsUntil returns a unix time before which no wait is over; the largest number where nothing waits. WaitsUntil reads nothing from the
// disk. Only the goroutine that begins batches may call it, while none is open.
func (s *Store) WaitsUntil() int64 { return s.waitFrom }

// dropWaiting removes everything that is stored of an event that waits.
func (ws *waits) dropWaiting(id nostr.ID, why layout.Reason) error {
	w, err := ws.findWaiting(id)
	if err != nil || w.Event == nil {
		return err
	}
	e := w.Event
	ws.ops++
	ws.tallyEnd(w)
	ws.counters.Waiting--
	ws.counters.WaitingBytes -= int64(len(e.AppendJSON(nil)))
	keys := [][]byte{layout.WaitingKey(w.Seq), layout.IDKey(layout.TableWait, id), layout.TimedKey(layout.TableWaitOver, w.Until, id), layout.WaitAuthorKey(e.PubKey, w.Seq)}
	if e.Kind == nip34.KindRepository {
		keys = append(keys, layout.WaitRepositoryKey(layout.HashOf(e.Tags.D()), w.Seq))
	}
	if address := e.Address(); address != "" {
		h := layout.HashOf(address)
		if s, ok, err := ws.reader().WaitSlot(h); err != nil {
			return err
		} else if ok && s.ID == id {
			keys = append(keys, layout.HashKey(layout.TableWaitSlot, h))
		}
	}
	for _, k := range keys {
		if err := ws.delete(k); err != nil {
			return err
		}
	}
	ws.dropEntry(w.Seq)
	if err := ws.memory.dropRecord(id); err != nil || why == released {
		return err
	}
	seq := ws.next()
	if err := ws.set(layout.RemovedKey(seq), layout.AppendRemoved(nil, id, why)); err != nil {
		return err
	}
	ws.entries = append(ws.entries, layout.Entry{Seq: seq, Removed: id, Reason: why})
	return nil
}

// supersedeWait ends the wait of an older version than e under its address.
func (ws *waits) supersedeWait(address layout.Hash, e *nostr.Event) error {
	if ws.counters.Waiting == 0 {
		return nil
	}
	s, ok, err := ws.reader().WaitSlot(address)
	if err != nil || !ok || s.ID == e.ID || !e.Stamp().Newer(s) {
		return err
	}
	return ws.EndWait(s.ID, policy.Superseded)
}

// vanishWaits ends the waits of an author's events up to then. There are few of one author.
func (ws *waits) vanishWaits(author nostr.PubKey, until int64) error {
	var gone []nostr.ID
	err := ws.EachWaitOf(author, func(w layout.Waiting) error {
		if w.Event.CreatedAt <= until {
			gone = append(gone, w.Event.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range gone {
		if err := ws.EndWait(id, policy.Vanished); err != nil {
			return err
		}
	}
	return nil
}

// waitsFor returns the event of that id and author if it waits and a deletion concerns it; else nil.
func (ws *waits) waitsFor(id nostr.ID, author nostr.PubKey) (*nostr.Event, error) {
	w, err := ws.findWaiting(id)
	if err != nil || w.Event == nil || w.Event.PubKey != author || !layout.Deletable(w.Event.Kind) {
		return nil, err
	}
	return w.Event, nil
}

// waitsAt returns the event that waits under an address and is no newer than until; nil where there is none.
func (ws *waits) waitsAt(address layout.Hash, until int64) (*nostr.Event, error) {
	if ws.counters.Waiting == 0 {
		return nil, nil
	}
	s, ok, err := ws.reader().WaitSlot(address)
	if err != nil || !ok || s.CreatedAt > until {
		return nil, err
	}
	w, err := ws.findWaiting(s.ID)
	return w.Event, err
}

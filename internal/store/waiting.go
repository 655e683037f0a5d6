package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/policy"
)

// Wait is how an event waits for the git data that it names (GRASP-01).
type Wait struct {
	Source Source
	Came   int64  // unix time at which it came
	Until  int64  // unix time from which on the wait is over; with NIP-40 no later than the event expires
	From   string // who brought it
}

// Waiting is an event that waits. It is durable, and nothing that serves events shows it.
type Waiting struct {
	Event *nostr.Event
	Seq   Seq // of its entry in the feed
	Wait
}

// released is why a wait ends with the event in the log.
const released = Reason(0)

// Wait keeps an event that is not served until its git data is here, if the store's rules have nothing against it, and says what they
// said: Wait, or what Judge says, or Duplicate where the event waits already, or Superseded where a newer version of its address waits. An
// older version that waits gives way; the version that is served stays. Add releases it. What is known of an event that waits is
// what is known of one that is remembered, so our own reconciliations do not fetch it.
func (b *Batch) Wait(e *nostr.Event, w Wait) (policy.Outcome, error) {
	out, err := b.Judge(e)
	if err == nil && out == policy.Accept {
		out, err = b.judge(e, isWaiting, isOutwaited)
	}
	if err == nil && out == policy.Accept {
		out, err = policy.Wait, b.wait(e, b.next(), w)
	}
	if err != nil {
		return 0, fmt.Errorf("keep %s waiting: %w", e.ID, err)
	}
	return out, nil
}

func (b *Batch) wait(e *nostr.Event, seq Seq, w Wait) error {
	if err := b.dropRecord(e.ID); err != nil {
		return err
	}
	b.ops++
	b.waiting++
	b.s.scratch = appendLog(b.s.scratch[:0], w.Source, e)
	b.waitingBytes += int64(len(b.s.scratch) - logHeader)
	if err := b.set(waitingKey(seq), b.s.scratch); err != nil {
		return err
	}
	b.entries = append(b.entries, Entry{Seq: seq, Waits: e, Source: w.Source})
	if err := b.setWait(e, waitRow{seq, w.Came, w.Until, w.From}); err != nil {
		return err
	}
	if err := b.set(waitAuthorKey(e.PubKey, seq), nil); err != nil {
		return err
	}
	if e.Kind == nip34.KindRepository {
		if err := b.set(waitRepositoryKey(hashOf(e.Tags.D()), seq), nil); err != nil {
			return err
		}
	}
	if address := e.Address(); address != "" {
		h := hashOf(address)
		if err := b.supersedeWait(h, e); err != nil {
			return err
		}
		if err := b.set(keyHash(tableWaitSlot, h), appendStamp(nil, e.Stamp())); err != nil {
			return err
		}
	}
	f := factsOf(e).kept()
	f.tags = f.tags[:min(len(f.tags), maxKeptTags)]
	return b.putRecord(record{facts: f, why: policy.Wait})
}

// setWait writes how an event waits, and its place in the order in which waits are over.
func (b *Batch) setWait(e *nostr.Event, w waitRow) error {
	if at, ok := e.Expiration(); ok {
		w.until = min(w.until, at)
	}
	w.until = max(w.until, 0)
	b.waitFrom = min(b.waitFrom, w.until)
	if err := b.set(timedKey(tableWaitOver, w.until, e.ID), nil); err != nil {
		return err
	}
	return b.set(keyID(tableWait, e.ID), w.append(nil))
}

// Postpone lets an event that waits do so until then. It does nothing to any other.
func (b *Batch) Postpone(id nostr.ID, until int64) error {
	err := func() error {
		w, ok, err := b.reader().waits(id)
		if err != nil || !ok {
			return err
		}
		e, err := b.reader().waitingEvent(w.seq)
		if err != nil {
			return err
		}
		if err := b.delete(timedKey(tableWaitOver, w.until, id)); err != nil {
			return err
		}
		b.ops++
		w.until = until
		return b.setWait(e, w)
	}()
	if err != nil {
		return fmt.Errorf("postpone the wait of %s: %w", id, err)
	}
	return nil
}

// EndWait ends the wait of an event without its being served, and remembers why, if that is remembered. It does nothing to an event
// that does not wait.
func (b *Batch) EndWait(id nostr.ID, why policy.Outcome) error {
	err := func() error {
		w, ok, err := b.reader().waits(id)
		if err != nil || !ok {
			return err
		}
		e, err := b.reader().waitingEvent(w.seq)
		if err != nil {
			return err
		}
		if err := b.endWait(id, reasonOf(why)); err != nil {
			return err
		}
		return b.remember(e, why)
	}()
	if err != nil {
		return fmt.Errorf("end the wait of %s: %w", id, err)
	}
	return nil
}

// LapseDue ends up to max waits that are over by now, the longest over first. It says how many, and when the next one is over: at
// once where there are more, the zero time where nothing waits.
func (b *Batch) LapseDue(now time.Time, max int) (next time.Time, n int, err error) {
	ids, from, err := b.timed(tableWaitOver, b.waitFrom, now.Unix(), max)
	if err != nil {
		return next, 0, fmt.Errorf("end waits: %w", err)
	}
	for _, id := range ids {
		why := policy.Lapsed
		w, err := b.Waiting(id)
		if err != nil {
			return next, n, err
		}
		if at, ok := w.Event.Expiration(); ok && at <= now.Unix() {
			why = policy.Expired
		}
		if err := b.EndWait(id, why); err != nil {
			return next, n, err
		}
		n++
	}
	b.waitFrom = from
	if b.waiting > 0 {
		next = time.Unix(from, 0)
	}
	return next, n, nil
}

// endWait takes away everything of an event that waits.
func (b *Batch) endWait(id nostr.ID, why Reason) error {
	if b.waiting == 0 {
		return nil
	}
	r := b.reader()
	w, ok, err := r.waits(id)
	if err != nil || !ok {
		return err
	}
	e, err := r.waitingEvent(w.seq)
	if err != nil {
		return err
	}
	b.ops++
	b.waiting--
	b.waitingBytes -= int64(len(e.AppendJSON(nil)))
	keys := [][]byte{waitingKey(w.seq), keyID(tableWait, id), timedKey(tableWaitOver, w.until, id), waitAuthorKey(e.PubKey, w.seq)}
	if e.Kind == nip34.KindRepository {
		keys = append(keys, waitRepositoryKey(hashOf(e.Tags.D()), w.seq))
	}
	if address := e.Address(); address != "" {
		h := hashOf(address)
		if s, ok, err := r.waitSlot(h); err != nil {
			return err
		} else if ok && s.ID == id {
			keys = append(keys, keyHash(tableWaitSlot, h))
		}
	}
	for _, k := range keys {
		if err := b.delete(k); err != nil {
			return err
		}
	}
	b.dropEntry(w.seq)
	if err := b.dropRecord(id); err != nil || why == released {
		return err
	}
	seq := b.next()
	if err := b.set(removedKey(seq), appendRemoved(nil, id, why)); err != nil {
		return err
	}
	b.entries = append(b.entries, Entry{Seq: seq, Removed: id, Reason: why})
	return nil
}

// supersedeWait ends the wait of an older version than e under its address.
func (b *Batch) supersedeWait(address hash, e *nostr.Event) error {
	if b.waiting == 0 {
		return nil
	}
	s, ok, err := b.reader().waitSlot(address)
	if err != nil || !ok || s.ID == e.ID || !e.Stamp().Newer(s) {
		return err
	}
	return b.EndWait(s.ID, policy.Superseded)
}

// vanishWaits ends the waits of an author's events up to then. There are few of one author.
func (b *Batch) vanishWaits(author nostr.PubKey, until int64) error {
	var gone []nostr.ID
	err := b.EachWaitOf(author, func(w Waiting) error {
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
	if b.waiting == 0 {
		return nil, nil
	}
	w, ok, err := b.reader().waits(id)
	if err != nil || !ok {
		return nil, err
	}
	e, err := b.reader().waitingEvent(w.seq)
	if err != nil || e.PubKey != author || !deletable(e.Kind) {
		return nil, err
	}
	return e, nil
}

// waitsAt is the event that waits under an address and is no newer than until; nil where there is none.
func (b *Batch) waitsAt(address hash, until int64) (*nostr.Event, error) {
	if b.waiting == 0 {
		return nil, nil
	}
	s, ok, err := b.reader().waitSlot(address)
	if err != nil || !ok || s.CreatedAt > until {
		return nil, err
	}
	w, ok, err := b.reader().waits(s.ID)
	if err != nil || !ok {
		return nil, err
	}
	return b.reader().waitingEvent(w.seq)
}

func isWaiting(r reader, e *nostr.Event) (policy.Outcome, error) {
	if _, ok, err := r.waits(e.ID); err != nil || !ok {
		return policy.Accept, err
	}
	return policy.Duplicate, nil
}

// isOutwaited looks at the version that waits under the event's address.
func isOutwaited(r reader, e *nostr.Event) (policy.Outcome, error) {
	address := e.Address()
	if address == "" {
		return policy.Accept, nil
	}
	s, ok, err := r.waitSlot(hashOf(address))
	if err != nil || !ok || !s.Newer(e.Stamp()) {
		return policy.Accept, err
	}
	return policy.Superseded, nil
}

func waitingKey(s Seq) []byte { return keyU64(tableWaiting, uint64(s)) }

func waitAuthorKey(author nostr.PubKey, s Seq) []byte {
	return binary.BigEndian.AppendUint64(keyID(tableWaitAuthor, nostr.ID(author)), uint64(s))
}

func waitRepositoryKey(d hash, s Seq) []byte {
	return binary.BigEndian.AppendUint64(keyHash(tableWaitRepository, d), uint64(s))
}

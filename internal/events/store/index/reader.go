package index

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Reader reads one state: a snapshot, or the open batch over the database.
type Reader struct {
	From  pebble.Reader
	Epoch uint32
	meter Meter // of each query; nil for none
	work  *work // of this query; nil without a meter
	Now   int64 // unix time; events that have expired by then are not shown

	Sketch *Sketch
	Memo   *Memo // of the open batch; nil for a snapshot

	Unfinished int // deletions that are not done yet, for the open batch
}

// Metered returns the same reader with a meter on its queries; a nil meter is none.
func (r Reader) Metered(m Meter) Reader {
	r.meter = m
	return r
}

// begun returns the same reader for one query, whose work it counts by itself.
func (r Reader) begun() Reader {
	if r.meter != nil {
		r.work = &work{meter: r.meter}
	}
	return r
}

// read returns the value of a key. It reads nothing where the sketch knows that there is none.
func (r Reader) read(key []byte) ([]byte, bool, error) {
	if r.Sketch.Lacks(key) {
		return nil, false, nil
	}
	return Get(r.From, key)
}

// Lookup returns the time of a stored event and its index row.
func (r Reader) Lookup(id nostr.ID) (time int64, at layout.Row, ok bool, err error) {
	if r.Memo != nil {
		if known, ok := r.Memo.ids.get(id); ok {
			return known.time, known.row, true, nil
		}
	}
	v, ok, err := r.read(layout.IDKey(layout.TableID, id))
	if err != nil || !ok {
		return 0, at, false, err
	}
	time, at, err = layout.ParseIDRow(v)
	if err == nil && r.Memo != nil {
		r.Memo.ids.put(id, idRow{time, at})
	}
	return time, at, err == nil, err
}

// Event reads and parses an entry of the log.
func (r Reader) Event(seq layout.Seq) (*nostr.Event, error) {
	v, ok, err := Get(r.From, layout.LogKey(seq))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("entry %d is indexed and not there: %w", seq, layout.ErrCorrupt)
	}
	e, err := layout.AddedEntry(seq, v)
	return e.Event, err
}

// Get returns the stored event with that id, unless it has expired.
func (r Reader) Get(id nostr.ID) (*nostr.Event, bool, error) {
	_, at, ok, err := r.Lookup(id)
	if err != nil || !ok || at.Expired(r.Now) {
		return nil, false, err
	}
	e, err := r.Event(at.Seq)
	return e, err == nil, err
}

// Has reports whether the event is stored and served.
func (r Reader) Has(id nostr.ID) (bool, error) {
	_, at, ok, err := r.Lookup(id)
	return ok && !at.Expired(r.Now), err
}

// Slot returns the newest version that was ever accepted under an address.
func (r Reader) Slot(address layout.Hash) (layout.Slot, bool, error) {
	if r.Memo != nil {
		if known, ok := r.Memo.slots.get(address); ok {
			return known, true, nil
		}
	}
	v, ok, err := r.read(layout.HashKey(layout.TableSlot, address))
	if err != nil || !ok {
		return layout.Slot{}, false, err
	}
	sl, err := layout.ParseSlot(v)
	if err == nil && r.Memo != nil {
		r.Memo.slots.put(address, sl)
	}
	return sl, err == nil, err
}

// At returns the event that is served at an address ("kind:pubkey:d"), if there is one.
func (r Reader) At(address string) (*nostr.Event, bool, error) {
	s, ok, err := r.Slot(layout.HashOf(address))
	if err != nil || !ok || s.State != layout.SlotLive {
		return nil, false, err
	}
	return r.Get(s.ID)
}

// HasAddress reports whether a served event stands at an address ("kind:pubkey:d").
func (r Reader) HasAddress(address string) (bool, error) {
	s, ok, err := r.Slot(layout.HashOf(address))
	if err != nil || !ok || s.State != layout.SlotLive {
		return false, err
	}
	return r.Has(s.ID)
}

// Record returns what is remembered of an id, whether it counts now or not.
func (r Reader) Record(id nostr.ID) (layout.Record, bool, error) {
	v, ok, err := r.read(layout.IDKey(layout.TableRecord, id))
	if err != nil || !ok {
		return layout.Record{}, false, err
	}
	rec, err := layout.ParseRecord(id, v)
	return rec, err == nil, err
}

// remembers reports whether a record counts by the rules and the clock of now. A record of an expired event does not count while it is from
// later than now: the clock was ahead then, and the event may not have expired.
func (r Reader) remembers(rec layout.Record) bool {
	return (rec.Epoch == 0 || rec.Epoch == r.Epoch) && (rec.Why != policy.Expired || rec.MadeAt() <= r.Now)
}

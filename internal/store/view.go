package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// View is one durable state of the store, unchanged by what is committed later. It may be used by several goroutines.
// It holds disk space that could be freed, so close it soon.
type View struct {
	s     *Store
	st    *state
	meter Meter // nil for none
}

// Unknown reports that an id is certainly neither stored nor remembered, where that can be told without reading. If not,
// ask a View.
func (s *Store) Unknown(id nostr.ID) bool {
	return s.sketch.lacks(layout.IDKey(layout.TableID, id)) && s.sketch.lacks(layout.IDKey(layout.TableRecord, id))
}

// View is the durable state of now. Close it.
func (s *Store) View() *View { return &View{s: s, st: s.retain()} }

// Close gives the view back. Close it once, after all its queries have ended.
func (v *View) Close() {
	v.s.release(v.st)
	v.st = nil
}

// Head is the number of the last entry that the view contains.
func (v *View) Head() layout.Seq { return v.st.counters.Head }

// Get is the stored event with that id, unless it has expired.
func (v *View) Get(id nostr.ID) (*nostr.Event, bool, error) {
	return v.reader().get(id)
}

// State says whether an event is known.
type State uint8

// The states of an id.
const (
	Unknown    State = iota
	Stored           // it is here, and durable
	Remembered       // it was verified, decided against, and is remembered
	InWaiting        // it is here, durable, and not served until its git data is here
)

// Knowledge is what the store knows of an id.
type Knowledge struct {
	State State
	Why   policy.Outcome // has a meaning only with Remembered
	Time  int64          // created_at; 0 with Unknown
}

// Known looks an id up. Whatever is not Unknown has been verified once.
func (v *View) Known(id nostr.ID) (Knowledge, error) {
	return v.reader().known(id)
}

func (v *View) reader() reader {
	r := reader{r: v.st.snap, epoch: v.st.epoch, now: v.s.opt.Now().Unix(), sketch: v.s.sketch}
	if v.meter != nil {
		r.work = &work{meter: v.meter}
	}
	return r
}

// reader reads one state: a snapshot, or the open batch over the database.
type reader struct {
	r     pebble.Reader
	epoch uint32
	work  *work
	now   int64 // events that expire until then are not shown

	sketch *sketch
	memo   *memo // of the open batch; nil for a snapshot

	unfinished int // deletions of which not all is done, for the open batch
}

// read is get, where the sketch does not know that there is nothing.
func (r reader) read(key []byte) ([]byte, bool, error) {
	if r.sketch.lacks(key) {
		return nil, false, nil
	}
	return get(r.r, key)
}

// lookup is the index row of a stored event and its time.
func (r reader) lookup(id nostr.ID) (time int64, at layout.Row, ok bool, err error) {
	if r.memo != nil {
		if known, ok := r.memo.ids.get(id); ok {
			return known.time, known.row, true, nil
		}
	}
	v, ok, err := r.read(layout.IDKey(layout.TableID, id))
	if err != nil || !ok {
		return 0, at, false, err
	}
	time, at, err = layout.ParseIDRow(v)
	if err == nil && r.memo != nil {
		r.memo.ids.put(id, idRow{time, at})
	}
	return time, at, err == nil, err
}

// event reads and parses an entry of the log.
func (r reader) event(seq layout.Seq) (*nostr.Event, error) {
	v, ok, err := get(r.r, layout.LogKey(seq))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("entry %d is indexed and not there: %w", seq, layout.ErrCorrupt)
	}
	e, err := layout.AddedEntry(seq, v)
	return e.Event, err
}

func (r reader) get(id nostr.ID) (*nostr.Event, bool, error) {
	_, at, ok, err := r.lookup(id)
	if err != nil || !ok || at.Expired(r.now) {
		return nil, false, err
	}
	e, err := r.event(at.Seq)
	return e, err == nil, err
}

func (r reader) known(id nostr.ID) (Knowledge, error) {
	time, _, ok, err := r.lookup(id)
	if err != nil {
		return Knowledge{}, err
	}
	if ok {
		return Knowledge{State: Stored, Time: time}, nil
	}
	rec, ok, err := r.record(id)
	if err != nil || !ok || !r.remembers(rec) {
		return Knowledge{}, err
	}
	if rec.Why == policy.Wait {
		return Knowledge{State: InWaiting, Time: rec.Time}, nil
	}
	return Knowledge{State: Remembered, Why: rec.Why, Time: rec.Time}, nil
}

func (r reader) record(id nostr.ID) (layout.Record, bool, error) {
	v, ok, err := r.read(layout.IDKey(layout.TableRecord, id))
	if err != nil || !ok {
		return layout.Record{}, false, err
	}
	rec, err := layout.ParseRecord(id, v)
	return rec, err == nil, err
}

// remembers reports whether a record counts under the rules and by the clock of now. One of an event that had expired does not while
// it was made later than now: the clock was ahead then, and the event may not have expired.
func (r reader) remembers(rec layout.Record) bool {
	return (rec.Epoch == 0 || rec.Epoch == r.epoch) && (rec.Why != policy.Expired || rec.MadeAt() <= r.now)
}

func (r reader) slot(address layout.Hash) (layout.Slot, bool, error) {
	if r.memo != nil {
		if known, ok := r.memo.slots.get(address); ok {
			return known, true, nil
		}
	}
	v, ok, err := r.read(layout.HashKey(layout.TableSlot, address))
	if err != nil || !ok {
		return layout.Slot{}, false, err
	}
	sl, err := layout.ParseSlot(v)
	if err == nil && r.memo != nil {
		r.memo.slots.put(address, sl)
	}
	return sl, err == nil, err
}

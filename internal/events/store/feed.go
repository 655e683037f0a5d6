package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Bounds of the ring of recent entries, and of one answer of Since that has to be read from the log.
const (
	ringEntries = 8192
	ringBytes   = 16 << 20
	sinceBytes  = 4 << 20
)

// ring holds the newest entries of the feed, so that readers that keep up share one parsed event. It is complete after
// from. Guarded by Store.mu.
type ring struct {
	from    layout.Seq // every entry after this one is in entries
	entries []layout.Entry
	bytes   int
}

func (r *ring) start(head layout.Seq) { r.from = head }

func entrySize(e layout.Entry) int {
	switch {
	case e.Event != nil:
		return 2*e.Event.Size() + 512
	case e.Waits != nil:
		return 2*e.Waits.Size() + 512
	}
	return 128
}

func (r *ring) push(entries []layout.Entry) {
	for _, e := range entries {
		r.bytes += entrySize(e)
	}
	r.entries = append(r.entries, entries...)
	drop := 0
	for r.bytes > ringBytes || len(r.entries)-drop > ringEntries {
		r.bytes -= entrySize(r.entries[drop])
		r.from = r.entries[drop].Seq
		r.entries[drop] = layout.Entry{}
		drop++
	}
	r.entries = r.entries[drop:]
}

// since copies up to limit entries after the given one, and reports whether the ring reaches back that far.
func (r *ring) since(after layout.Seq, limit int) ([]layout.Entry, bool) {
	if after < r.from {
		return nil, false
	}
	lo, hi := 0, len(r.entries)
	for lo < hi {
		if mid := (lo + hi) / 2; r.entries[mid].Seq <= after {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	tail := r.entries[lo:]
	return append([]layout.Entry(nil), tail[:min(limit, len(tail))]...), true
}

// Since is the feed. Since returns the durable entries after `after`, in order, at most max: fewer where they are large, but at least one.
// The channel is closed at the next commit that adds an entry. Since takes the channel before it reads the entries, so a reader that comes
// to the end and then waits on the channel misses nothing. Readers share the entries, and nobody changes their events. Since leaves out
// events that have left the store, and knows of removals only as long as the process lives.
func (s *Store) Since(after layout.Seq, max int) ([]layout.Entry, <-chan struct{}, error) {
	s.mu.Lock()
	changed := s.changed
	if s.closed {
		s.mu.Unlock()
		return nil, changed, ErrClosed
	}
	entries, ok := s.ring.since(after, max)
	if ok {
		s.mu.Unlock()
		return entries, changed, nil
	}
	s.cur.refs++
	st := s.cur
	s.mu.Unlock()
	defer s.release(st)
	entries, err := readLog(st.snap, after, max)
	if err != nil {
		err = fmt.Errorf("read feed after %d: %w", after, err)
	}
	return entries, changed, err
}

// readLog merges the log with what waits and with the removals.
func readLog(r pebble.Reader, after layout.Seq, max int) (entries []layout.Entry, err error) {
	added, err := index.TableIter(r, layout.TableLog)
	if err != nil {
		return nil, err
	}
	defer index.CloseAfter(added.Close, &err)
	removed, err := index.TableIter(r, layout.TableRemoved)
	if err != nil {
		return nil, err
	}
	defer index.CloseAfter(removed.Close, &err)
	waits, err := index.TableIter(r, layout.TableWaiting)
	if err != nil {
		return nil, err
	}
	defer index.CloseAfter(waits.Close, &err)
	tables := []struct {
		it    *pebble.Iterator
		entry func(layout.Seq, []byte) (layout.Entry, error)
	}{{added, layout.AddedEntry}, {removed, layout.RemovedEntry}, {waits, layout.WaitingEntry}}
	added.SeekGE(layout.LogKey(after + 1))
	removed.SeekGE(layout.RemovedKey(after + 1))
	waits.SeekGE(layout.WaitingKey(after + 1))
	for bytes := 0; len(entries) < max && (bytes == 0 || bytes < sinceBytes); {
		next := &tables[0]
		for i := range tables[1:] {
			if seq := iterSeq(tables[i+1].it); seq != 0 && (iterSeq(next.it) == 0 || seq < iterSeq(next.it)) {
				next = &tables[i+1]
			}
		}
		seq := iterSeq(next.it)
		if seq == 0 {
			return entries, nil
		}
		if v := next.it.Value(); bytes > 0 && bytes+2*len(v) > sinceBytes {
			return entries, nil // large ones are read by themselves
		}
		e, err := next.entry(seq, next.it.Value())
		if err != nil {
			return nil, err
		}
		next.it.Next()
		bytes += entrySize(e)
		entries = append(entries, e)
	}
	return entries, nil
}

// iterSeq is the sequence number under the iterator, 0 at the end.
func iterSeq(it *pebble.Iterator) layout.Seq {
	if k := it.Key(); it.Valid() && len(k) == 9 {
		return layout.Seq(binary.BigEndian.Uint64(k[1:]))
	}
	return 0
}

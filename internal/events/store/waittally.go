package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// WaitTally says how much waits.
type WaitTally struct {
	Announcements int // of the author, kind 30617
	OfAuthor      int
	OfSource      int
	All           int
	Bytes         int64 // of all, as they are encoded
}

// WaitsByKind says how many events wait of each kind that ever waits for git data.
type WaitsByKind struct{ Announcements, States, PullRequests, Updates int64 }

// count adds n events of a kind.
func (w *WaitsByKind) count(kind nostr.Kind, n int64) {
	switch kind {
	case nip34.KindRepository:
		w.Announcements += n
	case nip34.KindState:
		w.States += n
	case nip34.KindPullRequest:
		w.PullRequests += n
	case nip34.KindPullRequestUpdate:
		w.Updates += n
	}
}

// WaitGroup is a part of what waits.
type WaitGroup uint8

// The groups of which OldestWait knows the first.
const (
	WaitAnnouncements WaitGroup = iota // the announcements of an author
	WaitsOfAuthor
	WaitsOfSource
	WaitsOfLargest // what the source brought that has most; of those that have as much, the one that has the oldest
)

// WaitTally returns what waits of an author and of a source (Wait.From), as this batch has it. WaitTally reads nothing from the disk.
func (ws *waits) WaitTally(author nostr.PubKey, from string) WaitTally {
	t := WaitTally{All: int(ws.counters.Waiting), Bytes: ws.counters.WaitingBytes}
	if a := ws.s.tally.authors[author]; a != nil {
		t.Announcements, t.OfAuthor = len(a.announcements), len(a.all)
	}
	if s := ws.s.tally.sources[layout.SourceOf(from)]; s != nil {
		t.OfSource = len(s.all)
	}
	return t
}

// OldestWait returns the event of a group that has waited longest, as this batch has it. author and from say whose group it is, where
// groups belong to somebody.
func (ws *waits) OldestWait(of WaitGroup, author nostr.PubKey, from string) (_ layout.Waiting, ok bool, err error) {
	all := ws.s.tally.group(of, author, layout.SourceOf(from))
	if len(all) == 0 {
		return layout.Waiting{}, false, nil
	}
	w, err := ws.reader().WaitingNumber(all[0])
	if err != nil {
		return layout.Waiting{}, false, fmt.Errorf("oldest wait: %w", err)
	}
	return w, true, nil
}

func (t *tally) group(of WaitGroup, author nostr.PubKey, from string) []layout.Seq {
	a, s := t.authors[author], t.sources[from]
	switch {
	case of == WaitAnnouncements && a != nil:
		return a.announcements
	case of == WaitsOfAuthor && a != nil:
		return a.all
	case of == WaitsOfSource && s != nil:
		return s.all
	case of == WaitsOfLargest && len(t.order) > 0:
		return t.order[0].all
	}
	return nil
}

// tallyWait counts an event that waits from now on, and tallyEnd takes an event out of the count that waits no more. dropTally takes both back
// where the batch is not committed.
func (ws *waits) tallyWait(w layout.Waiting) {
	x := talliedOf(w)
	ws.s.tally.add(x)
	ws.untally = append(ws.untally, func() { ws.s.tally.remove(x) })
}

func (ws *waits) tallyEnd(w layout.Waiting) {
	x := talliedOf(w)
	ws.s.tally.remove(x)
	ws.untally = append(ws.untally, func() { ws.s.tally.add(x) })
}

// dropTally takes back what the batch has done to the tally.
func (ws *waits) dropTally() {
	for _, undo := range slices.Backward(ws.untally) {
		undo()
	}
}

// loadTally counts what waits when a store is opened. Of the events themselves loadTally reads the kinds alone.
func loadTally(r pebble.Reader) (*tally, error) {
	waits := make(map[layout.Seq]*tallied)
	err := index.EachKey(r, layout.TableWaitAuthor, func(key, _ []byte) error {
		if len(key) != 1+32+8 {
			return fmt.Errorf("what waits of an author: %w", layout.ErrCorrupt)
		}
		seq := layout.Seq(binary.BigEndian.Uint64(key[1+32:]))
		waits[seq] = &tallied{seq: seq, author: nostr.PubKey(key[1:])}
		return nil
	})
	if err != nil {
		return nil, err
	}
	left := len(waits)
	err = index.EachKey(r, layout.TableWait, func(_, value []byte) error {
		row, err := layout.ParseWaitRow(value)
		if err != nil {
			return err
		}
		x := waits[row.Seq]
		if x == nil {
			return fmt.Errorf("wait %d: %w", row.Seq, layout.ErrCorrupt)
		}
		x.from = row.From
		left--
		return nil
	})
	if err != nil {
		return nil, err
	}
	if left != 0 {
		return nil, fmt.Errorf("waits: %w", layout.ErrCorrupt)
	}
	err = index.EachKey(r, layout.TableWaitRepository, func(key, _ []byte) error {
		if len(key) != 1+layout.HashLen+8 {
			return fmt.Errorf("announcements that wait: %w", layout.ErrCorrupt)
		}
		x := waits[layout.Seq(binary.BigEndian.Uint64(key[1+layout.HashLen:]))]
		if x == nil {
			return fmt.Errorf("announcements that wait: %w", layout.ErrCorrupt)
		}
		x.kind = nip34.KindRepository
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := loadKinds(r, waits); err != nil {
		return nil, err
	}
	t := newTally()
	for _, x := range slices.SortedFunc(maps.Values(waits), func(a, b *tallied) int { return cmp.Compare(a.seq, b.seq) }) {
		t.add(*x)
	}
	return t, nil
}

// loadKinds finds the kind of each event that waits and is not known as an announcement yet.
func loadKinds(r pebble.Reader, waits map[layout.Seq]*tallied) error {
	left := len(waits)
	err := index.EachKey(r, layout.TableWaiting, func(key, value []byte) (err error) {
		if len(key) != 1+8 {
			return fmt.Errorf("events that wait: %w", layout.ErrCorrupt)
		}
		seq := layout.Seq(binary.BigEndian.Uint64(key[1:]))
		x := waits[seq]
		if x == nil {
			return fmt.Errorf("event that waits %d: %w", seq, layout.ErrCorrupt)
		}
		left--
		if x.kind == nip34.KindRepository {
			return nil
		}
		if x.kind, err = layout.WaitingKind(value); err == nil && x.kind == nip34.KindRepository {
			err = fmt.Errorf("announcement that waits %d: %w", seq, layout.ErrCorrupt)
		}
		return err
	})
	if err == nil && left != 0 {
		err = fmt.Errorf("events that wait: %w", layout.ErrCorrupt)
	}
	return err
}

package store

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/nostr"
)

// How many marks an author's deletions have left is counted, so that what is for ever has a bound. A mark for something that was
// here is paid for by that; beyond the bound none is left for what is not here: a deletion of it is stored and served, and has no
// effect on what comes later.

func marksKey(author nostr.PubKey) []byte { return keyID(tableMarks, nostr.ID(author)) }

// marks are those of one author.
type marks struct {
	n       uint32
	refused bool // there was one too many some time
}

func (r reader) marksOf(author nostr.PubKey) (marks, error) {
	v, ok, err := get(r.r, marksKey(author))
	if err != nil || !ok {
		return marks{}, err
	}
	if len(v) != marksLen || v[4] > 1 {
		return marks{}, fmt.Errorf("number of marks: %w", errCorrupt)
	}
	return marks{binary.BigEndian.Uint32(v), v[4] == 1}, nil
}

const marksLen = 4 + 1

// mark leaves a mark of a deletion, or makes the one that is there as new as it.
func (b *Batch) mark(key []byte, del *nostr.Event, here bool) error {
	r := b.reader()
	at, ok, err := r.deletion(key)
	if err != nil || ok && at >= del.CreatedAt {
		return err
	}
	if !ok {
		m, err := b.marksOf(del.PubKey)
		if err != nil {
			return err
		}
		if !here && int64(m.n) >= b.s.opt.MaxMarks {
			m.refused = true
			b.marked[del.PubKey] = m
			return nil
		}
		m.n++
		b.marked[del.PubKey] = m
	}
	return b.set(key, binary.BigEndian.AppendUint64(nil, uint64(del.CreatedAt)))
}

// unmark takes a mark back.
func (b *Batch) unmark(key []byte, author nostr.PubKey) error {
	m, err := b.marksOf(author)
	if err != nil {
		return err
	}
	if m.n > 0 { // a repair may have found a mark and no count
		m.n--
		b.marked[author] = m
	}
	return b.delete(key)
}

// marksOf is as this batch has it.
func (b *Batch) marksOf(author nostr.PubKey) (marks, error) {
	if m, ok := b.marked[author]; ok {
		return m, nil
	}
	if b.marked == nil {
		b.marked = make(map[nostr.PubKey]marks)
	}
	return b.reader().marksOf(author)
}

// writeMarks writes what has changed, once for all marks of the batch.
func (b *Batch) writeMarks() error {
	for author, m := range b.marked {
		v := append(binary.BigEndian.AppendUint32(nil, m.n), 0)
		if m.refused {
			v[4] = 1
		}
		err := error(nil)
		if m == (marks{}) {
			err = b.delete(marksKey(author))
		} else {
			err = b.set(marksKey(author), v)
		}
		if err != nil {
			return err
		}
	}
	b.marked = nil
	return nil
}

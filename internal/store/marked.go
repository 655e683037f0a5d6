package store

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/nostr"
)

// How many marks an author's deletions have left is counted, so that there is a bound to them. A mark for something that was
// here is paid for by that; beyond the bound none is left for what is not here: a deletion of it is stored and served, and has no
// effect on what comes later.

func marksKey(author nostr.PubKey) []byte { return keyID(tableMarks, nostr.ID(author)) }

// marks are those of one author.
type marks struct {
	n       uint32
	refused bool   // there was one too many some time
	unused  uint32 // of his deletions that are served and whose time may end
	aged    uint32 // and that are remembered since theirs has
}

func (r reader) marksOf(author nostr.PubKey) (marks, error) {
	v, ok, err := get(r.r, marksKey(author))
	if err != nil || !ok {
		return marks{}, err
	}
	return parseMarks(v)
}

// Before format 7 nothing was counted but marks.
const (
	marksLen    = 4 + 1 + 4 + 4
	marksLenOld = 4 + 1
)

func parseMarks(v []byte) (marks, error) {
	if len(v) != marksLen && len(v) != marksLenOld || v[4] > 1 {
		return marks{}, fmt.Errorf("number of marks: %w", errCorrupt)
	}
	m := marks{n: binary.BigEndian.Uint32(v), refused: v[4] == 1}
	if len(v) == marksLen {
		m.unused, m.aged = binary.BigEndian.Uint32(v[5:]), binary.BigEndian.Uint32(v[9:])
	}
	return m, nil
}

func (m marks) append(dst []byte) []byte {
	dst = append(binary.BigEndian.AppendUint32(dst, m.n), 0)
	if m.refused {
		dst[len(dst)-1] = 1
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, m.unused), m.aged)
}

// mark leaves a mark of a deletion, or makes the one that is there as new as it. One for what was not here has an end.
func (b *Batch) mark(key []byte, del *nostr.Event, here bool) error {
	b.used = b.used || here
	r := b.reader()
	at, ok, err := r.markAt(key)
	if err != nil {
		return err
	}
	next := deletionMark{time: del.CreatedAt, until: gateUntil(del.CreatedAt, r.now), author: del.PubKey}
	if here {
		next.until = 0
	}
	if ok && !at.over(r.now) {
		next.time = max(next.time, at.time)
		if at.until == 0 || next.until == 0 {
			next.until = 0
		} else {
			next.until = max(next.until, at.until)
		}
		if next == at || next.until == 0 && next.time == at.time && at.until == 0 {
			return nil
		}
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
	return b.set(key, next.append(nil, key[0]))
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
		err := error(nil)
		if m == (marks{}) {
			err = b.delete(marksKey(author))
		} else {
			err = b.set(marksKey(author), m.append(nil))
		}
		if err != nil {
			return err
		}
	}
	b.marked = nil
	return nil
}

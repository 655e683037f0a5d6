package store

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// sweepEvery is between two looks at all marks.
const sweepEvery = daySeconds

// SweepMarks looks at the next max marks of deletions and removes those that are over. SweepMarks reports in more whether this round has
// more to look at. The next round begins a day later.
func (ms *marks) SweepMarks(now time.Time, max int) (more bool, err error) {
	if ms.s.sweepFrom > now.Unix() {
		return false, nil
	}
	over, last, err := ms.marksOver(now.Unix(), max)
	if err != nil {
		return false, fmt.Errorf("sweep marks of deletions: %w", err)
	}
	for _, x := range over {
		ms.ops++
		if err := ms.unmark(x.key, x.author); err != nil {
			return false, fmt.Errorf("sweep marks of deletions: %w", err)
		}
	}
	if ms.s.swept = last; last != nil {
		return true, nil
	}
	ms.s.sweepFrom = now.Unix() + sweepEvery
	return false, nil
}

type markOver struct {
	key    []byte
	author nostr.PubKey
}

// marksOver goes on from the mark that was looked at last, and gives where it has stopped: nil at the end.
func (ms *marks) marksOver(now int64, max int) (over []markOver, last []byte, err error) {
	it, err := ms.w.NewIter(nil)
	if err != nil {
		return nil, nil, err
	}
	defer index.CloseAfter(it.Close, &err)
	n := 0
	for _, table := range []byte{layout.TableDeletedAddress, layout.TableDeletedID} { // in the order of keys
		from := []byte{table}
		if ms.s.swept != nil {
			if ms.s.swept[0] > table {
				continue
			}
			if ms.s.swept[0] == table {
				from = append(slices.Clone(ms.s.swept), 0)
			}
		}
		for it.SeekGE(from); it.Valid() && it.Key()[0] == table; it.Next() {
			m, err := layout.ParseDeletionMark(it.Key(), it.Value())
			if err != nil {
				return nil, nil, err
			}
			if m.Over(now) {
				over = append(over, markOver{bytes.Clone(it.Key()), m.Author})
			}
			if n++; n == max {
				return over, bytes.Clone(it.Key()), nil
			}
		}
		if err := it.Error(); err != nil {
			return nil, nil, err
		}
	}
	return over, nil, nil
}

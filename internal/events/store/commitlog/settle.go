package commitlog

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
)

// ErrOther says that another entry is at the position of one's own: whoever wrote it leads.
var ErrOther = errors.New("another node has written the entry of this position")

// The waits between two tries of Settle: the first, which doubles, and the longest.
const (
	firstWait = 50 * time.Millisecond
	maxWait   = 2 * time.Second
)

// Settle puts an entry at its position, and returns once it is known what became of that: nil where the entry is there, ErrOther where another
// one is. As long as that is unknown, Settle puts the same bytes again. It returns without knowing only when the log is closed (ErrClosed), or
// with the end of ctx, whose cause it gives.
func Settle(ctx context.Context, l Log, e Entry, before Chain) error {
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		switch r, err := l.Append(ctx, e.At, before, e.Body); { // the log tells of its trouble itself
		case r == Done:
			return nil
		case errors.Is(err, ErrClosed):
			return err
		case r == Refused:
			if there, err := l.Read(ctx, e.At); err == nil {
				return same(there, e)
			}
		}
		if err := sleep.For(ctx, wait); err != nil {
			return err
		}
	}
}

// same returns nil where the entry that is there is ours: an earlier try has put it there, whatever that try said.
func same(there, ours Entry) error {
	if there.Chain == ours.Chain && bytes.Equal(there.Body, ours.Body) {
		return nil
	}
	return ErrOther
}

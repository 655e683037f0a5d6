package index

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Count does what store.View.Count says, on this state.
func (r Reader) Count(ctx context.Context, filters []nostr.Filter) (int, error) {
	var answers []*answer
	defer func() {
		for _, a := range answers {
			a.stop()
		}
	}()
	for _, f := range filters {
		f.Limit = nil
		a := &answer{}
		a.next, a.stop = iter.Pull2(r.Pairs(ctx, f, false))
		answers = append(answers, a)
		if err := a.advance(); err != nil {
			return 0, err
		}
	}
	n := 0
	for {
		answers = slices.DeleteFunc(answers, func(a *answer) bool { return a.over })
		if len(answers) == 0 {
			return n, nil
		}
		n++
		if err := step(answers); err != nil {
			return 0, err
		}
	}
}

// answer is the answer of a filter, read one pair at a time.
type answer struct {
	next func() (Pair, error, bool)
	stop func()
	at   Pair
	over bool
}

func (a *answer) advance() error {
	at, err, ok := a.next()
	a.at, a.over = at, !ok
	if err != nil {
		return fmt.Errorf("count: %w", err)
	}
	return nil
}

// step takes the event that comes next out of all answers that have it.
func step(answers []*answer) error {
	first := slices.MinFunc(answers, func(a, b *answer) int { return a.at.Compare(b.at) }).at
	for _, a := range answers {
		if a.at != first {
			continue
		}
		if err := a.advance(); err != nil {
			return err
		}
	}
	return nil
}

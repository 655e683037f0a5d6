package index

import (
	"context"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// PairsBy runs a filter over each of the indexes that could serve it, whichever would be chosen.
func PairsBy(r Reader, f nostr.Filter, flagged bool) (answers [][]Pair, err error) {
	for i := 0; ; i++ {
		q := newQuery(f)
		if q.empty() || f.IDs != nil {
			return nil, nil
		}
		q.split()
		if i >= max(1, len(q.conditions)) {
			return answers, nil
		}
		if err := r.drive(context.Background(), q, i, flagged); err != nil {
			return nil, err
		}
		pairs := []Pair{}
		err := r.runScan(context.Background(), q, flagged, func(at *found) (bool, error) {
			ok, err := r.meets(q, at)
			if ok {
				pairs = append(pairs, Pair{at.time(), at.id()})
			}
			return len(pairs) < q.limit, err
		})
		if err != nil {
			return nil, err
		}
		answers = append(answers, pairs)
	}
}

// SequenceOf is what answers a query are made by.
var SequenceOf = sequence[int]

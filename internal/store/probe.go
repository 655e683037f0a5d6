package store

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"
)

// probe checks by index whether what a scan yields is in further groups. All indexes have the same order, so a miss
// also tells where the next event can be that is in the group: the scan goes on there.
type probe struct {
	it     *pebble.Iterator
	groups []group
	key    []byte
}

func newProbe(r pebble.Reader, groups []group) (*probe, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	it, err := r.NewIter(nil)
	if err != nil {
		return nil, err
	}
	return &probe{it: it, groups: groups}, nil
}

// has reports whether the row's event is in every group, or the first place after it where one may be.
func (p *probe) has(f *found, w *work) (bool, [orderLen]byte, error) {
	if p == nil {
		return true, f.order, nil
	}
	for _, g := range p.groups {
		if err := w.spend(seekCost * len(g.prefixes)); err != nil {
			return false, f.order, err
		}
		first, err := p.first(g, f)
		if err != nil || first != f.order {
			return false, first, err
		}
	}
	return true, f.order, nil
}

// first is the place of the first row of the group from that of f on; the last place of all where there is none.
func (p *probe) first(g group, f *found) (best [orderLen]byte, err error) {
	for i := range best {
		best[i] = 0xff
	}
	for _, prefix := range g.prefixes {
		p.key = append(p.key[:0], prefix...)
		if f.flagged {
			flagged(p.key)
		}
		p.key = append(p.key, f.order[:]...)
		p.it.SeekGE(p.key)
		if !p.it.Valid() {
			if err := p.it.Error(); err != nil {
				return best, err
			}
			continue
		}
		k := p.it.Key()
		if len(k) == len(p.key) && bytes.HasPrefix(k, p.key[:len(prefix)]) && bytes.Compare(k[len(prefix):], best[:]) < 0 {
			copy(best[:], k[len(prefix):])
		}
		if best == f.order {
			return best, nil
		}
	}
	return best, nil
}

func (p *probe) close() error {
	if p == nil {
		return nil
	}
	return p.it.Close()
}

// fewRows is how many rows a group may have to be read without further thought.
const fewRows = 256

// choose decides which group to read: the one that looks cheapest, unless it has many rows and another has few.
func (r reader) choose(ctx context.Context, q *query) error {
	q.group()
	if len(q.groups) > 1 {
		order := []int{q.best}
		for i := range q.groups {
			if i != q.best {
				order = append(order, i)
			}
		}
		for _, i := range order {
			few, err := r.few(ctx, q, q.groups[i])
			if err != nil {
				return err
			}
			if few {
				q.best = i
				break
			}
		}
	}
	q.drive(q.best)
	return nil
}

// few reports whether a group has few rows in the query's time.
func (r reader) few(ctx context.Context, q *query, g group) (few bool, err error) {
	if len(g.prefixes) > fewRows {
		return false, nil
	}
	s, err := r.newScan(ctx, q, g.prefixes, false)
	if err != nil {
		return false, err
	}
	defer closeAfter(s.close, &err)
	for range fewRows {
		if _, ok, err := s.step(ctx); err != nil || !ok {
			return err == nil, err
		}
	}
	return false, nil
}

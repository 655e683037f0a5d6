package index

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// probe checks by index whether the rows of a scan are in further conditions. All indexes have the same order, so a miss also tells where the
// next event of the condition can be: the scan goes on there.
type probe struct {
	it         *pebble.Iterator
	conditions []condition
	key        []byte
}

func newProbe(r pebble.Reader, conditions []condition) (*probe, error) {
	if len(conditions) == 0 {
		return nil, nil
	}
	it, err := r.NewIter(nil)
	if err != nil {
		return nil, err
	}
	return &probe{it: it, conditions: conditions}, nil
}

// has reports whether the row's event is in every condition. Where it is not, has returns the first place behind at which one may be.
func (p *probe) has(f *found, w *work) (bool, [layout.OrderLen]byte, error) {
	if p == nil {
		return true, f.order, nil
	}
	for _, g := range p.conditions {
		if err := w.spend(SeekCost * g.probes()); err != nil {
			return false, f.order, err
		}
		if g.authors != nil {
			if ok, err := p.by(g.authors, f); err != nil || !ok {
				return false, layout.Behind(f.order), err
			}
			continue
		}
		first, err := p.first(g, f, w)
		if err != nil || first != f.order {
			return false, first, err
		}
	}
	return true, f.order, nil
}

// by reports whether one of the authors wrote the row's event. As the row has the kind, that takes one seek for each author.
func (p *probe) by(authors []nostr.PubKey, f *found) (bool, error) {
	kind := f.row.Kind
	if f.flagged {
		kind = f.memory.Kind
	}
	for _, a := range authors {
		p.key = layout.AppendAuthorKind(p.key[:0], a, kind)
		if f.flagged {
			layout.Flagged(p.key)
		}
		p.key = append(p.key, f.order[:]...)
		if p.it.SeekGE(p.key) && bytes.Equal(p.it.Key(), p.key) {
			return true, nil
		}
	}
	return false, p.it.Error()
}

// first returns the place of the first row of the condition from the place of f on; the last place of all where there is none.
func (p *probe) first(g condition, f *found, w *work) (best [layout.OrderLen]byte, err error) {
	for i := range best {
		best[i] = 0xff
	}
	for _, s := range g.spans {
		p.key = append(p.key[:0], s.prefix...)
		if f.flagged {
			layout.Flagged(p.key)
		}
		p.key = append(p.key, f.order[:]...)
		order, err := p.seek(len(s.prefix), s.cases, f.flagged, w)
		if err != nil {
			return best, err
		}
		if order != nil && bytes.Compare(order, best[:]) < 0 {
			copy(best[:], order)
		}
		if best == f.order {
			return best, nil
		}
	}
	return best, nil
}

// seek returns the place of the first row from p.key on that has the cases and begins with so many bytes of the key; nil where there is none.
func (p *probe) seek(prefix int, asked layout.Cases, flagged bool, w *work) ([]byte, error) {
	for p.it.SeekGE(p.key); p.it.Valid(); p.it.Next() {
		k := p.it.Key()
		if len(k) != len(p.key) || !bytes.HasPrefix(k, p.key[:prefix]) {
			return nil, nil
		}
		if asked == 0 {
			return k[prefix:], nil
		}
		of, err := layout.CasesOf(p.it.Value(), flagged)
		if err != nil || of.Meets(asked) {
			return k[prefix:], err
		}
		if err := w.spend(1); err != nil {
			return nil, err
		}
	}
	return nil, p.it.Error()
}

func (p *probe) close() error {
	if p == nil {
		return nil
	}
	return p.it.Close()
}

// fewRows is how many rows a condition may have to be read without further thought.
const fewRows = 256

// choose decides which condition to read: the one that looks cheapest, unless it has many rows and another has few.
func (r Reader) choose(ctx context.Context, q *query, withFlagged bool) error {
	q.split()
	if len(q.conditions) > 1 {
		order := []int{q.best}
		for i := range q.conditions {
			if i != q.best {
				order = append(order, i)
			}
		}
		for _, i := range order {
			few, err := r.few(ctx, q, i, withFlagged)
			if err != nil {
				return err
			}
			if few {
				q.best = i
				break
			}
		}
	}
	return r.drive(ctx, q, q.best, withFlagged)
}

// drive has the query read conditions[i].
func (r Reader) drive(ctx context.Context, q *query, i int, withFlagged bool) error {
	if len(q.conditions) > 0 {
		if err := r.lookFor(ctx, q, i, withFlagged); err != nil {
			return err
		}
	}
	q.drive(i)
	return nil
}

// lookFor finds the ranges of a condition that consists of authors.
func (r Reader) lookFor(ctx context.Context, q *query, i int, withFlagged bool) (err error) {
	g := &q.conditions[i]
	if g.authors != nil && !g.looked {
		g.spans, err = r.own(ctx, g.authors, q.kinds, withFlagged)
		g.looked = err == nil
	}
	return err
}

// few reports whether a condition has few rows in the query's time.
func (r Reader) few(ctx context.Context, q *query, i int, withFlagged bool) (few bool, err error) {
	if len(q.conditions[i].authors) > fewRows {
		return false, nil
	}
	if err := r.lookFor(ctx, q, i, withFlagged); err != nil || len(q.conditions[i].spans) > fewRows {
		return false, err
	}
	s, err := r.newScan(ctx, q, q.conditions[i].spans, false)
	if err != nil {
		return false, err
	}
	defer CloseAfter(s.close, &err)
	for range fewRows {
		if _, ok, err := s.step(ctx); err != nil || !ok {
			return err == nil, err
		}
	}
	return false, nil
}

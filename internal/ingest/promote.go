package ingest

import (
	"errors"
	"time"

	"github.com/graspd/graspd/internal/fifo"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
)

// promotion is the chore of deciding orphans again. What one accepts may end the wait of others, so that chains resolve one by one.
type promotion struct {
	w       *writer
	again   fifo.Queue[*orphan] // those to decide again
	added   []*orphan           // put into the orphan buffer in the open batch
	leaving []*orphan           // decided in it
	at      *orphan             // whose step has failed
}

// reconsider puts an orphan on the list of those to decide again.
func (p *promotion) reconsider(x *orphan) {
	if !x.due && !x.leaving {
		x.due = true
		p.again.Push(x)
	}
}

func (p *promotion) next() time.Time { return soonIf(p.again.Len() > 0) }

func (p *promotion) step() error {
	x := p.again.Pop()
	x.due = false
	if !p.w.orphans.has(x.event.ID) || x.leaving {
		return nil
	}
	v, err := p.w.redecide(x)
	if err != nil {
		p.at = x
		return err
	}
	p.decidedAgain(x, v.Outcome)
	return nil
}

func (p *promotion) failed(err error) {
	if errors.Is(err, store.ErrFull) {
		p.reconsider(p.at)
	} else { // it may be what makes the store fail, so it is not tried again
		p.w.orphans.remove(p.at)
	}
	p.at = nil
}

// decidedAgain lets an orphan leave with the commit unless it is one still.
func (p *promotion) decidedAgain(x *orphan, o policy.Outcome) {
	if !o.Orphan() && !x.leaving {
		x.leaving = true
		p.leaving = append(p.leaving, x)
	}
}

func (p *promotion) kept() {
	for _, x := range p.leaving {
		p.w.orphans.remove(x)
	}
	p.added, p.leaving = nil, nil
}

func (p *promotion) undone() {
	added, leaving := p.added, p.leaving
	p.added, p.leaving = nil, nil
	for _, x := range added {
		p.w.orphans.remove(x)
	}
	for _, x := range leaving {
		x.leaving = false
		p.reconsider(x)
	}
}

func (w *writer) redecide(x *orphan) (policy.Verdict, error) {
	if err := w.open(); err != nil {
		return policy.Verdict{}, err
	}
	v, err := w.judge(x.event, x.by, x.crowd)
	if err != nil {
		return v, err
	}
	return v, w.apply(x.event, x.from, x.label, v.Outcome)
}

package ingest

import (
	"errors"
	"time"

	"github.com/graspd/graspd/internal/base/fifo"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// promotion is the chore of deciding orphans again. An accepted orphan may end the wait of others, so a chain of orphans resolves link by
// link.
type promotion struct {
	w       *writer
	again   fifo.Queue[*orphan] // orphans to decide again
	added   []*orphan           // orphans that came into the buffer in the open batch
	leaving []*orphan           // orphans that the open batch has decided otherwise
	at      *orphan             // the orphan of the last step, for failed
}

// reconsider queues an orphan to be decided again.
func (p *promotion) reconsider(x *orphan) {
	if !x.due && !x.leaving {
		x.due = true
		p.again.Push(x)
	}
}

func (p *promotion) dueAt() time.Time { return soonIf(p.again.Len() > 0) }

func (p *promotion) step() error {
	x := p.again.Pop()
	x.due, p.at = false, x
	if !p.w.orphans.has(x.event.ID) || x.leaving {
		return nil
	}
	v, err := p.w.redecide(x)
	if err != nil {
		return err
	}
	p.decidedAgain(x, v.Outcome)
	return nil
}

// failed drops the orphan of the last step, unless something else is at fault.
func (p *promotion) failed(err error) (nostr.ID, bool) {
	x := p.at
	if _, ok := errors.AsType[*refdb.Fault](err); ok && x.times < timesAnew || p.w.everybodys(err) {
		x.times++
		p.reconsider(x)
		return nostr.ID{}, false
	}
	p.w.orphans.remove(x)
	return x.event.ID, true
}

// decidedAgain makes x leave the buffer with the commit, unless its new verdict leaves it an orphan.
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

// redecide decides an orphan in the open batch, as decide decides an item.
func (w *writer) redecide(x *orphan) (policy.Verdict, error) {
	if err := w.begin(); err != nil {
		return policy.Verdict{}, err
	}
	v, err := w.verdictOn(x.event, x.by, x.address)
	if err != nil {
		return v, err
	}
	return v, w.apply(x.event, x.from, x.label, v.Outcome)
}

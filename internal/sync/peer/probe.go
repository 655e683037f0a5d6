package peer

import (
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/want"
)

// relay is what a look below the comparison of a task goes by.
func (c *comparing) relay(t *task) reconcile.Relay {
	r := reconcile.Relay{
		Truncates: c.support == negTruncates, Brings: c.brings, Most: min(reconcile.MostProbed, c.stored.limits.Page()), Sparse: t.group.Layer == want.LayerReferences,
		Proven: func(news bool) bool { return c.stored.provenBefore(t.group, news) },
	}
	if !t.group.byItems() { // it is not paged
		r.Most = c.stored.limits.Page()
	}
	return r
}

// probe looks below what the relay showed.
func (c *comparing) probe(t *task) { c.look(t, t.neg.Below(c.relay(t))) }

// look sends a probe, or pages, or goes on.
func (c *comparing) look(t *task, l reconcile.Look) {
	if q := l.Probe; q != nil {
		f := q.Span.Narrow(t.filter)
		f.Limit = new(q.Limit)
		c.stored.request(t, asksProbe, f).probe = reconcile.NewAnswer(*q)
		return
	}
	if l.Page != nil {
		t.pager = paging.New(*l.Page, &c.stored.habits)
	}
	c.stored.proceed(t)
}

// probeDone takes the complete answer to a probe.
func (c *comparing) probeDone(t *task, a *reconcile.Answer) {
	c.brings = max(c.brings, a.Brought())
	if w := t.group.unfiltered; w != nil && a.Hidden() {
		w.unfit("it reconciles its newest events only")
		return
	}
	c.look(t, t.neg.Probed(c.relay(t), a))
}

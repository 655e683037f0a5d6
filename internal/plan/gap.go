package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/capacity"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/step"
	"github.com/graspd/graspd/internal/want"
)

// A gap is an event that a stored request brought and that the live REQ for the
// same items should have brought: created when that had been open for a while,
// and some time ago.

// gapMargin is kept from both ends, in seconds: events take time to arrive.
const gapMargin = 60

// noteGap counts and reports a gap if e, which request r brought first, is one.
func (p *Peer) noteGap(r *request, e *nostr.Event) {
	if r.task == nil || r.task.group.swept || e == nil || e.CreatedAt > p.now.Wall.Unix()-gapMargin {
		return
	}
	g := r.task.group
	if g.byItems() && !p.conn.missed(g.Items, e) || !g.byItems() && !g.course.missed(e) {
		return
	}
	p.counted.Gaps++
	p.whole.gap()
	if level, tell := p.gaps.note(p.now, g.class, e); tell {
		p.report(level, "gap: the relay did not send an event while graspd listened",
			"event", e.ID.String(), "kind", e.Kind, "created", time.Unix(e.CreatedAt, 0).UTC(), "found_by", g.class.String())
	}
}

// missed says whether the live REQ of one of the items should have brought e, and did not.
func (f *following) missed(items []want.Item, e *nostr.Event) bool {
	if e.CreatedAt < f.followed.All()+gapMargin {
		return false // as most are, which need no closer look
	}
	return slices.ContainsFunc(items, func(it want.Item) bool {
		filters := ask.Of(f.want, f.want.Layer(it), []want.Item{it}, true, ask.Bounds{Values: capacity.DenseValues})
		asks := slices.ContainsFunc(filters, func(x nostr.Filter) bool { return f.demands.kinds.Mode().With(x).Matches(e) })
		return asks && e.CreatedAt >= f.followed.Of(it)+gapMargin
	})
}

// gaps are those of one relay: the newest, and what the log says of them within an hour.
type gaps struct {
	last  []Gap         // the newest last
	begun time.Duration // of the hour
	lines int
	rest  int        // not told one by one
	worst step.Level // of those
}

// Gap is an event that a live subscription should have brought and did not.
type Gap struct {
	Found   time.Time
	By      step.Class
	ID      nostr.ID
	Kind    nostr.Kind
	Created time.Time
}

// mostGaps is how many gaps of one relay are kept for the operator to see.
const mostGaps = 10

// gapLines is how many gaps are told one by one within an hour.
const gapLines = 10

// note takes one. It returns how much weight it has, and whether it is told now and not summed up when the hour is over.
func (g *gaps) note(now health.Now, class step.Class, e *nostr.Event) (level step.Level, tell bool) {
	if len(g.last) == mostGaps {
		g.last = slices.Delete(g.last, 0, 1)
	}
	g.last = append(g.last, Gap{now.Wall, class, e.ID, e.Kind, time.Unix(e.CreatedAt, 0)})
	level = step.Warn
	if class == step.Daily {
		level = step.Error
	}
	if g.lines == 0 {
		g.begun = now.Mono
	}
	if g.lines++; g.lines > gapLines {
		g.rest++
		g.worst = max(g.worst, level)
		return level, false
	}
	return level, true
}

// due returns when the hour is over; never when none has begun.
func (g *gaps) due() time.Duration {
	if g.lines == 0 {
		return never
	}
	return g.begun + time.Hour
}

// end ends the hour if it is over. It returns how many were not told within it, and the most weight that one of them had.
func (g *gaps) end(now time.Duration) (rest int, worst step.Level) {
	if now < g.due() {
		return 0, 0
	}
	rest, worst = g.rest, g.worst
	*g = gaps{last: g.last}
	return rest, worst
}

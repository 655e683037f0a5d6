package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// A gap is an event that a stored request brought and that the live REQ for the
// same items should have brought: created when that had been open for a while,
// and some time ago.

// gapMargin is kept from both ends, in seconds: events take time to arrive.
const gapMargin = 60

// gapped counts and reports a gap if e, which request r brought first, is one.
func (p *Peer) gapped(r *request, e *nostr.Event) {
	c := p.conn
	if r.task == nil || r.task.group.swept || e == nil || e.CreatedAt > p.now.Wall.Unix()-gapMargin {
		return
	}
	if r.task.group.whole {
		if from, is := p.whole.gapFrom(); is && e.CreatedAt >= from+gapMargin {
			p.gap(r.task.group.class, e)
		}
		return
	}
	for _, it := range r.task.group.items {
		if p.follows(it, e) && e.CreatedAt >= c.followed.since(it)+gapMargin {
			p.gap(r.task.group.class, e)
			return
		}
	}
}

// follows says whether the live REQ of an item asks for e.
func (p *Peer) follows(it want.Item, e *nostr.Event) bool {
	if e.CreatedAt < p.conn.followed.all+gapMargin {
		return false // as most are, which need no closer look
	}
	filters := filtersOf(p.want, p.want.Layer(it), []want.Item{it}, true, bounds{values: denseValues})
	return slices.ContainsFunc(filters, func(f nostr.Filter) bool { return p.demands.kinds.Mode().With(f).Matches(e) })
}

// gapLog bounds what the log says of gaps.
type gapLog struct {
	begun time.Duration // of the hour
	lines int
	rest  int   // not told one by one
	worst Level // of those
}

// Gap is an event that a live subscription should have brought and did not.
type Gap struct {
	Found   time.Time
	By      Class
	ID      nostr.ID
	Kind    nostr.Kind
	Created time.Time
}

// mostGaps is how many gaps of one relay are kept for the operator to see.
const mostGaps = 10

// noteGap keeps the newest gaps.
func (p *Peer) noteGap(class Class, e *nostr.Event) {
	if len(p.lastGaps) == mostGaps {
		p.lastGaps = slices.Delete(p.lastGaps, 0, 1)
	}
	p.lastGaps = append(p.lastGaps, Gap{p.now.Wall, class, e.ID, e.Kind, time.Unix(e.CreatedAt, 0)})
}

// gapLines is how many gaps are told one by one within an hour.
const gapLines = 10

func (p *Peer) gap(class Class, e *nostr.Event) {
	p.counted.Gaps++
	p.noteGap(class, e)
	p.whole.gap()
	level := Warn
	if class == Daily {
		level = Error
	}
	g := &p.gaps
	if g.lines == 0 {
		*g = gapLog{begun: p.now.Mono}
	}
	if g.lines++; g.lines > gapLines {
		g.rest++
		g.worst = max(g.worst, level)
		return
	}
	p.report(level, "gap: an event that the live subscription did not bring",
		"event", e.ID.String(), "kind", e.Kind, "created", time.Unix(e.CreatedAt, 0).UTC(), "found_by", class.String())
}

// due returns when the hour is over; never when none has begun.
func (g *gapLog) due() time.Duration {
	if g.lines == 0 {
		return never
	}
	return g.begun + time.Hour
}

// tendGaps ends the hour with the sum of what was not told.
func (p *Peer) tendGaps() {
	g := &p.gaps
	if p.now.Mono < g.due() {
		return
	}
	if g.rest > 0 {
		p.report(g.worst, "more gaps within the hour", "count", g.rest)
	}
	*g = gapLog{}
}

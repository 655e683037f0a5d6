package admin

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

// view has the state of everything at one time, shared by all who ask. Nobody changes it once it is made.
type view struct {
	At        time.Time
	Status    Status // as in status.json
	Sync      bool
	Problems  []string
	Readiness *status.Readiness // nil where this relay fills itself from no other
	Nothing   *status.Nothing   // nil while a repository is kept
	Relays    []status.Relay    // the worst first
	held      *holdings
	Refusals  []refusalView
	Git       *status.Git // nil when no repositories are hosted
	Moderated bool        // the pages offer decisions
	Decisions []decision
	Queue     *ReportQueue // nil where reports are not offered
	Reported  []reportedView
	Unread    string // why the decisions could not be read
}

// gapView is one gap.
type gapView struct {
	URL grasp.RelayURL
	status.Gap
	Title string // what people call the event
}

// refusalView counts refusals of one sort.
type refusalView struct {
	Outcome, Prefix string
	Count           uint64
}

// now returns the view of now, or one that was made just before. It goes on when the client leaves, as others wait for the same view. The caller
// holds rendering.
func (p *Pages) now(ctx context.Context) *view {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	now := time.Now()
	p.lastViewed = now
	if p.last == nil || now.Sub(p.last.At) >= fresh {
		p.last = p.see(ctx, now)
	}
	return p.last
}

// see makes the view of now.
func (p *Pages) see(ctx context.Context, now time.Time) *view {
	v := &view{At: now, Sync: p.c.Sync != nil}
	var relays []status.Relay
	if v.Sync {
		relays = p.relays(ctx)
	}
	v.Status = p.c.tell(relays)
	v.Problems, v.Nothing, v.Git, v.Readiness = p.c.troubles(relays), v.Status.Nothing, v.Status.Git, v.Status.Readiness
	v.Relays = slices.Clone(relays)
	worst(v.Relays)
	if p.c.Door != nil {
		v.Refusals = refusals(p.c.Door.Stats())
	}
	if v.Moderated = p.c.Moderation != nil; v.Moderated {
		var err error
		if v.Decisions, err = p.c.decisions(); err != nil {
			v.Unread = err.Error()
		}
	}
	v.Queue = p.c.queue(mostReportedShown)
	v.Reported = p.c.reportedViews(v.Queue)
	v.held = p.holdings(ctx, oldestShown)
	return v
}

// worst puts the relays in the order of the page.
func worst(relays []status.Relay) {
	slices.SortStableFunc(relays, func(a, b status.Relay) int { return urgency(a) - urgency(b) })
}

// urgency returns the rank of a relay; a lower one comes first. Bootstrap relays that are not connected come before relays that have been behind
// for long, then those that fail, the dead ones, which strangers name as they like, and those that are not complete.
func urgency(r status.Relay) int {
	switch {
	case r.Bootstrap && !r.Connected:
		return 0
	case r.OnlyMailbox && r.Failures == 0: // graspd visits a mailbox now and then
		return 7
	case r.Health != status.Dead && r.Behind >= longBehind:
		return 1
	case r.Health == status.Dead:
		return 3
	case !r.Connected:
		return 2
	case r.Phase != status.PhaseLive:
		return 4
	case r.Gaps > 0:
		return 5
	case r.Bootstrap:
		return 6
	}
	return 7
}

// byName compares repositories, for the order of the page: those first that need a look, then by name.
func byName(a, b repository) int {
	return cmp.Or(slices.Index(repositoryStates, a.State)-slices.Index(repositoryStates, b.State),
		cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Owner(), b.Owner()))
}

// mostGapsShown bounds the list of gaps.
const mostGapsShown = 50

// gaps returns the newest gaps of all relays, the newest first.
func gaps(d map[grasp.RelayURL]status.Details) []gapView {
	var out []gapView
	for u, x := range d {
		for _, g := range x.Gaps {
			out = append(out, gapView{u, g, ""})
		}
	}
	slices.SortFunc(out, func(a, b gapView) int {
		return cmp.Or(b.Found.Compare(a.Found), cmp.Compare(a.URL, b.URL), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return out[:min(len(out), mostGapsShown)]
}

// refusals returns the refusals since the start, the most frequent first.
func refusals(s ingest.Stats) []refusalView {
	var out []refusalView
	for o := range s.Refused {
		for i, n := range s.Refused[o] {
			if n > 0 {
				out = append(out, refusalView{policy.Outcome(o).String(), ingest.Prefixes[i], n})
			}
		}
	}
	slices.SortFunc(out, func(a, b refusalView) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Prefix, b.Prefix))
	})
	return out
}

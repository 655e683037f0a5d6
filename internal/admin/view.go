package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/status"
)

// view is all that the page shows.
type view struct {
	Self         Self
	Problems     []string
	Nothing      *status.Nothing // nil while something is carried
	Sync         bool
	Facts        []fact
	Columns      []status.Column
	Relays       []relayView
	Repositories []RepositoryStatus
	Gaps         []gapView
	Refusals     []refusalView
	Git          *status.Git // nil when no repositories are hosted
	Moderated    bool        // decisions are offered
	Decisions    []decision
	Unread       string // why they could not be read
}

// fact is one figure of the summary.
type fact struct{ Name, Value string }

// relayView is one line of the table of relays.
type relayView struct {
	status.Relay
	Done, All int    // items confirmed and wanted
	TurnText  string // of what is asked in turns
	Next      string
	Cells     []cell // of the columns
	Plot      plot
}

// cell is one figure of a relay.
type cell struct {
	Text string
	Bad  bool
}

// gapView is one gap.
type gapView struct {
	URL grasp.RelayURL
	plan.Gap
}

// refusalView counts refusals of one sort.
type refusalView struct {
	Outcome, Prefix string
	Count           uint64
}

// see builds the view of now.
func (p *Pages) see(ctx context.Context) view {
	now := time.Now()
	v := view{Self: Self{URL: string(p.c.URL), Version: p.c.Version}, Problems: p.c.look(ctx), Nothing: p.c.nothing(), Sync: p.c.Sync != nil, Columns: status.Columns()}
	st := p.c.Store.Stats()
	v.Facts = []fact{
		{"events", number(uint64(max(0, st.Events)))}, {"repositories", number(uint64(max(0, st.Repositories)))}, {"on the disk", size(st.DiskBytes)},
	}
	if p.c.Door != nil {
		v.Refusals = refusals(p.c.Door.Stats())
	}
	if p.c.Clients != nil {
		clients, subscriptions := p.c.Clients()
		v.Facts = append(v.Facts, fact{"clients", number(uint64(clients))}, fact{"subscriptions", number(uint64(subscriptions))})
	}
	if p.c.Git != nil {
		v.Git = p.c.Git()
	}
	if v.Moderated = p.c.Moderation != nil; v.Moderated {
		var err error
		if v.Decisions, err = p.c.decisions(); err != nil {
			v.Unread = err.Error()
		}
	}
	if p.c.Sync == nil {
		return v
	}
	live := 0
	for _, r := range p.c.sorted(ctx) {
		v.Relays = append(v.Relays, p.relay(now, r))
		if r.Phase == "live" {
			live++
		}
	}
	slices.SortStableFunc(v.Relays, func(a, b relayView) int {
		return cmp.Or(rank(a.Bootstrap)-rank(b.Bootstrap), urgency(a)-urgency(b))
	})
	v.Facts = append(v.Facts, fact{"relays live", fmt.Sprintf("%d of %d", live, len(v.Relays))})
	d := p.details(ctx, now)
	v.Repositories, v.Gaps = repositoryStatus(d), gaps(d)
	slices.SortFunc(v.Repositories, byName)
	return v
}

// urgency puts those that somebody may have to look at before those that are well.
func urgency(r relayView) int {
	switch {
	case r.Health == status.Dead:
		return 1
	case !r.Connected:
		return 0
	case r.Phase != "live":
		return 2
	}
	return 3
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

func (p *Pages) relay(now time.Time, r status.Relay) relayView {
	v := relayView{
		Relay: r, Done: r.Confirmed.Items(), All: r.Want.Items(), TurnText: r.Turn.Round(time.Second).String(), Plot: draw(p.history.day(now, r.URL)),
	}
	for _, c := range status.Columns() {
		v.Cells = append(v.Cells, cellOf(c, &r))
	}
	if !r.NextAttempt.IsZero() {
		v.Next = wait(r.NextAttempt.Sub(now))
	}
	return v
}

func cellOf(c status.Column, r *status.Relay) cell {
	if c.Count != nil {
		n := c.Count(r)
		return cell{number(n), c.Bad && n > 0}
	}
	if x := c.Ratio(r); x != nil {
		return cell{Text: percent(*x)}
	}
	return cell{Text: "–"}
}

// byName puts repositories in the order of the page, the least complete first.
func byName(a, b RepositoryStatus) int {
	return cmp.Or(rank(!a.Complete)-rank(!b.Complete), cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Owner(), b.Owner()))
}

// mostGapsShown bounds the list of gaps.
const mostGapsShown = 50

// gaps lists the newest of all relays, the newest first.
func gaps(d map[grasp.RelayURL]plan.Details) []gapView {
	var out []gapView
	for u, x := range d {
		for _, g := range x.Gaps {
			out = append(out, gapView{u, g})
		}
	}
	slices.SortFunc(out, func(a, b gapView) int {
		return cmp.Or(b.Found.Compare(a.Found), cmp.Compare(a.URL, b.URL), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return out[:min(len(out), mostGapsShown)]
}

// refusals lists what was refused since the start, the most frequent first.
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

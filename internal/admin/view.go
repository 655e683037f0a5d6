package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"graspd/internal/grasp"
	"graspd/internal/ingest"
	"graspd/internal/plan"
	"graspd/internal/policy"
	"graspd/internal/status"
)

// view is all that the page shows.
type view struct {
	Self         Self
	Problems     []string
	Sync         bool
	Facts        []fact
	Columns      []status.Column
	Relays       []relayView
	Repositories []repositoryView
	Gaps         []gapView
	Refusals     []refusalView
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

// repositoryView is one repository with the relays that it names.
type repositoryView struct {
	Name, Owner string
	Roots       int
	Complete    bool
	Relays      []partView
}

// partView is how complete a repository is with one of its relays.
type partView struct {
	URL      grasp.RelayURL
	State    string // complete, partial or none: what is known to be here of what the relay has
	Done     int
	All      int
	Lacks    uint64 // events that the relay lacks
	Compared bool
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
	v := view{Self: Self{URL: string(p.c.URL), Version: p.c.Version}, Problems: p.c.look(ctx), Sync: p.c.Sync != nil, Columns: status.Columns()}
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
	v.Repositories, v.Gaps = repositories(d), gaps(d)
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

// repositories gathers what every relay tells of each; the least complete first.
func repositories(d map[grasp.RelayURL]plan.Details) []repositoryView {
	found := make(map[string]*repositoryView)
	for u, x := range d {
		for _, part := range x.Parts {
			r := found[part.Address]
			if r == nil {
				owner, name := owner(part.Address)
				r = &repositoryView{Name: name, Owner: owner, Complete: true}
				found[part.Address] = r
			}
			r.Roots = max(r.Roots, part.Roots)
			r.Complete = r.Complete && part.Complete()
			r.Relays = append(r.Relays, partOf(u, part))
		}
	}
	out := make([]repositoryView, 0, len(found))
	for _, r := range found {
		slices.SortFunc(r.Relays, func(a, b partView) int { return cmp.Compare(a.URL, b.URL) })
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b repositoryView) int {
		return cmp.Or(rank(!a.Complete)-rank(!b.Complete), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Owner, b.Owner))
	})
	return out
}

func partOf(u grasp.RelayURL, part plan.Part) partView {
	v := partView{URL: u, State: "partial", Done: part.Confirmed, All: 1 + part.Roots, Lacks: part.Lacks, Compared: part.Held > 0}
	switch {
	case part.Complete():
		v.State = "complete"
	case part.Confirmed == 0:
		v.State = "none"
	}
	return v
}

// owner splits an address into author and d tag.
func owner(address string) (author, d string) {
	_, rest, _ := strings.Cut(address, ":")
	author, d, _ = strings.Cut(rest, ":")
	return author, d
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

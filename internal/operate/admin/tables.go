package admin

import "github.com/graspd/graspd/internal/status"

// relayRow is one line of a table of relays.
type relayRow struct {
	*status.Relay
	Plot plot
	May  bool           // the page has a button for it
	With RepositoryPart // how it stands with the repository of the page
}

// cell is one figure of a row.
type cell struct {
	Title, Text string
	Amiss       bool
}

// Cells returns the figures that every table of relays has.
func (r relayRow) Cells() (out []cell) {
	for _, c := range status.Columns() {
		out = append(out, cell{c.Title, c.Text(r.Relay, number), c.Amiss(r.Relay)})
	}
	return out
}

// relayList fills in the list of relays, of which the page shows these.
func (d *document) relayList(h *history, relays []status.Relay, part paged) {
	l := d.newList(relaysPage, part)
	var names []string
	for _, x := range status.States() {
		names = append(names, x.Name)
	}
	count := map[string]int{}
	for i := range d.View.Relays {
		count[d.View.Relays[i].State()]++
	}
	d.states(&l, len(d.View.Relays), names, count)
	for i := range relays {
		l.Relays = append(l.Relays, relayRow{Relay: &relays[i], May: d.May, Plot: draw(h.day(d.View.At, relays[i].URL))})
	}
	switch {
	case !d.View.Sync:
		l.Empty = "graspd fetches from no relay, as it runs with --sync=false."
	case len(d.View.Relays) == 0:
		l.Empty = "No repository here names another relay, and there are no bootstrap relays."
	default:
		l.Empty = "No relay fits the search."
	}
	d.RelayList = l
}

// mostChips is how many relays of a repository a table shows; the repository's page has all.
const mostChips = 3

// repositoryRow is one line of a table of repositories.
type repositoryRow struct {
	*repository
	Parts []RepositoryPart // those first that need a look
	More  int              // relays beyond these
	With  RepositoryPart   // how it stands with the relay of the page
}

// repositoryList fills in the list of repositories, of which the page shows these.
func (d *document) repositoryList(list []repository, part paged) {
	l, held := d.newList(repositoriesPage, part), d.View.held
	d.states(&l, len(held.list), repositoryStates, held.count)
	for i := range list {
		parts := worstParts(list[i].Relays, mostChips)
		l.Repositories = append(l.Repositories, repositoryRow{repository: d.named(list[i]), Parts: parts, More: len(list[i].Relays) - len(parts)})
	}
	l.Empty = "No repository here names another relay."
	if len(held.list) > 0 {
		l.Empty = "No repository that names another relay fits the search."
	}
	d.RepositoryList = l
}

// worstParts returns the first parts of a repository, those that are not complete before the others.
func worstParts(all []RepositoryPart, most int) []RepositoryPart {
	out := make([]RepositoryPart, 0, min(most, len(all)))
	for _, is := range [...]bool{false, true} {
		for _, x := range all {
			if len(out) < most && (x.State() == "complete") == is {
				out = append(out, x)
			}
		}
	}
	return out
}

package admin

import (
	"github.com/graspd/graspd/internal/operate/admin/pagediff"
	"github.com/graspd/graspd/internal/status"
)

// relayRow is one line of a table of relays.
type relayRow struct {
	*status.Relay
	Plot plot
}

// The columns before and after those that every table of relays has, and the template of each of their cells.
var (
	relayFirst = []pagediff.Column{{Title: "Relay", Class: "name"}, {Title: "State", Class: "how"}}
	relayLast  = []pagediff.Column{{Title: "Last day", Hint: "below: connected or not; above: events that the relay brought", Class: "plot"}, {Title: "Retry", Class: "act"}}
)

// relayTable fills in the table of these relays, in this order.
func (d *document) relayTable(h *history, relays []status.Relay) error {
	t := pagediff.Table{ID: "relays", Caption: "Relays", Class: "cards", Columns: relayFirst, Empty: d.emptyRelays()}
	columns := status.Columns()
	for _, c := range columns {
		t.Columns = append(t.Columns[:len(t.Columns):len(t.Columns)], pagediff.Column{Title: c.Title, Hint: c.Hint, Class: "n"})
	}
	t.Columns = append(t.Columns, relayLast...)
	for i := range relays {
		r := relayRow{&relays[i], draw(h.day(d.View.At, relays[i].URL))}
		row := pagediff.Row{ID: "r-" + key(string(r.URL))}
		for _, name := range [...]string{"relay-name", "relay-state"} {
			html, err := execute(name, r)
			if err != nil {
				return err
			}
			row.Cells = append(row.Cells, html)
		}
		for _, c := range columns {
			text := c.Text(r.Relay, number)
			if c.Amiss(r.Relay) {
				text = `<span class="bad">` + text + `</span>`
			}
			row.Cells = append(row.Cells, text)
		}
		for _, name := range [...]string{"relay-plot", "relay-retry"} {
			html, err := execute(name, r)
			if err != nil {
				return err
			}
			row.Cells = append(row.Cells, html)
		}
		t.Rows = append(t.Rows, row)
	}
	d.cells.Tables = append(d.cells.Tables, t)
	return nil
}

func (d *document) emptyRelays() string {
	switch {
	case !d.View.Sync:
		return "graspd fetches from no relay, as it runs with --sync=false."
	case len(d.View.Relays) == 0:
		return "No repository here names another relay, and there are no bootstrap relays."
	}
	return "No relay fits the search."
}

// mostChips is how many relays of a repository a table shows; the repository's page has all.
const mostChips = 3

// repositoryRow is one line of a table of repositories.
type repositoryRow struct {
	*repository
	Parts []RepositoryPart // those first that need a look
	More  int              // relays beyond these
}

var repositoryColumns = []pagediff.Column{
	{Title: "Repository", Class: "name"}, {Title: "State", Class: "how"}, {Title: "Roots", Hint: "issues, patches and pull requests", Class: "n"},
	{Title: "Its relays", Hint: "for each, whether all that it has of the repository is here", Class: "parts"},
}

// repositoryTable fills in the table of these repositories, in this order.
func (d *document) repositoryTable(list []repository) error {
	t := pagediff.Table{ID: "repositories", Caption: "Repositories", Class: "cards", Columns: repositoryColumns, Empty: "No repository here names another relay."}
	if len(d.View.held.list) > 0 {
		t.Empty = "No repository that names another relay fits the search."
	}
	for i := range list {
		r := repositoryRow{repository: &list[i]}
		r.Parts = worstParts(list[i].Relays, mostChips)
		r.More = len(list[i].Relays) - len(r.Parts)
		row := pagediff.Row{ID: "p-" + list[i].Key}
		for _, name := range [...]string{"repository-name", "repository-state", "repository-roots", "repository-parts"} {
			html, err := execute(name, r)
			if err != nil {
				return err
			}
			row.Cells = append(row.Cells, html)
		}
		t.Rows = append(t.Rows, row)
	}
	d.cells.Tables = append(d.cells.Tables, t)
	return nil
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

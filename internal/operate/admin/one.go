package admin

import (
	"slices"
	"strconv"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/operate/admin/pagediff"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
)

// relay fills the page with everything that is known about one relay.
func (d *document) relay(h *history) error {
	u := d.Of
	if n, err := grasp.NormalizeRelay(u); err == nil {
		u = string(n)
	}
	i := slices.IndexFunc(d.View.Relays, func(r status.Relay) bool { return string(r.URL) == u || d.Key != "" && key(string(r.URL)) == d.Key })
	if i < 0 {
		return unknown("the relay " + cut(mostPlain, d.Of+d.Key))
	}
	d.Relay = &d.View.Relays[i]
	d.Title, d.Heading = string(d.Relay.URL), string(d.Relay.URL)
	row := relayRow{d.Relay, draw(h.day(d.View.At, d.Relay.URL))}
	for id, name := range map[string]string{"state": "relay-state", "plot": "relay-plot", "retry": "relay-retry"} {
		if err := d.fill(id, name, row); err != nil {
			return err
		}
	}
	for _, f := range d.RelayFacts() {
		if err := d.fill("fact-"+f.ID, "fact", f.Value); err != nil {
			return err
		}
	}
	if err := d.fill("gaps", "gaps", struct{ Gaps []gapView }{d.View.held.gapsOf[d.Relay.URL]}); err != nil {
		return err
	}
	places := d.View.held.of[string(d.Relay.URL)]
	part := pageOf(d.Page, len(places))
	if err := d.pager(part, "repositories"); err != nil {
		return err
	}
	return d.sharedTable(d.View.held.some(places[part.From:part.To]))
}

// pager fills in which part of a list is shown, and the links to others.
func (d *document) pager(part paged, what string) error {
	s := search{What: what, Part: part}
	s.links(d.where)
	return d.fill(what+"-part", "part", s)
}

// RelayFacts returns the facts of the page's relay.
func (d *document) RelayFacts() (out []fact) {
	for _, f := range status.Figures() {
		for _, l := range f.Lines {
			out = append(out, fact{l.ID, l.Title, l.Text(d.Relay, number)})
		}
	}
	return out
}

// sharedTable fills in the table of the repositories that name the page's relay.
func (d *document) sharedTable(list []repository) error {
	t := pagediff.Table{ID: "repositories", Caption: "Its repositories", Class: "cards", Empty: "graspd wants nothing from it now.", Columns: []pagediff.Column{
		{Title: "Repository", Class: "name"}, {Title: "State", Class: "how"}, {Title: "Complete", Class: "n", Hint: "how many are complete here, of the repository and its roots"}, {Title: "Lacks", Class: "n", Hint: "events that are here and that this relay does not have"},
	}}
	for i := range list {
		r := &list[i]
		html, err := execute("repository-name", repositoryRow{repository: r})
		if err != nil {
			return err
		}
		at := slices.IndexFunc(r.Relays, func(x RepositoryPart) bool { return x.URL == string(d.Relay.URL) })
		t.Rows = append(t.Rows, pagediff.Row{ID: "p-" + r.Key, Cells: append([]string{html}, partCells(r.Relays[at])...)})
	}
	d.cells.Tables = append(d.cells.Tables, t)
	return nil
}

// partCells returns the cells about one repository at one relay.
func partCells(x RepositoryPart) []string {
	lacks := "-"
	if x.Lacks != nil {
		lacks = number(*x.Lacks)
	}
	return []string{`<span class="part ` + x.State() + `">` + x.State() + `</span>`, number(uint64(x.Confirmed)) + "/" + number(uint64(x.Want)), lacks}
}

// repository fills the page with everything that is known about one repository.
func (d *document) repository(h *history) error {
	held := d.View.held
	k := d.Key
	if d.Of != "" {
		k = key(d.Of)
		if a, err := policy.ParseRepository(d.Of); err == nil {
			k = key(a.String())
		}
	}
	i, ok := held.byKey[k]
	if !ok {
		return unknown("the repository " + cut(mostPlain, d.Of+d.Key))
	}
	d.Repo = &held.list[i]
	d.Title, d.Heading = d.Repo.Name(), cut(mostPlain, d.Repo.Name())
	if err := d.fill("state", "repository-state", repositoryRow{repository: d.Repo}); err != nil {
		return err
	}
	if err := d.fill("repository-git", "repository-git", d.Repo); err != nil {
		return err
	}
	for _, f := range d.RepositoryFacts() {
		if err := d.fill("fact-"+f.ID, "fact", f.Value); err != nil {
			return err
		}
	}
	part := pageOf(d.Page, len(d.Repo.Relays))
	if err := d.pager(part, "relays"); err != nil {
		return err
	}
	return d.namedTable(worstParts(d.Repo.Relays, len(d.Repo.Relays))[part.From:part.To])
}

// RepositoryFacts returns the figures of the page's repository.
func (d *document) RepositoryFacts() []fact {
	r := d.Repo
	owner := r.Owner()
	if pk, err := nostr.ParsePubKey(owner); err == nil {
		owner = nip19.Npub(pk)
	}
	return []fact{
		{"address", "address", cut(2000, r.Address)}, {"owner", "owner", owner}, {"roots", "roots", number(uint64(max(0, r.Roots)))},
		{"relays", "relays that it names", strconv.Itoa(len(r.Relays))},
	}
}

// namedTable fills in the table of the relays that the page's repository names.
func (d *document) namedTable(list []RepositoryPart) error {
	t := pagediff.Table{ID: "relays", Caption: "Its relays", Class: "cards", Empty: "It names no other relay.", Columns: []pagediff.Column{
		{Title: "Relay", Class: "name"}, {Title: "Relay's state", Class: "how"}, {Title: "State", Class: "how"}, {Title: "Complete", Class: "n", Hint: "how many are complete here, of the repository and its roots"}, {Title: "Here", Class: "n", Hint: "events that are here"}, {Title: "Lacks", Class: "n", Hint: "events that are here and that the relay does not have"},
	}}
	for _, x := range list {
		r := status.Relay{URL: grasp.RelayURL(x.URL), Phase: status.PhaseIdle}
		if i := slices.IndexFunc(d.View.Relays, func(r status.Relay) bool { return string(r.URL) == x.URL }); i >= 0 {
			r = d.View.Relays[i]
		}
		row := pagediff.Row{ID: "r-" + key(x.URL)}
		for _, name := range [...]string{"relay-name", "relay-state"} {
			html, err := execute(name, relayRow{Relay: &r})
			if err != nil {
				return err
			}
			row.Cells = append(row.Cells, html)
		}
		here := "-"
		if x.Here != nil {
			here = number(*x.Here)
		}
		more := partCells(x)
		row.Cells = append(row.Cells, more[0], more[1], here, more[2])
		t.Rows = append(t.Rows, row)
	}
	d.cells.Tables = append(d.cells.Tables, t)
	return nil
}

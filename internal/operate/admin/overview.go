package admin

import (
	"fmt"

	"github.com/graspd/graspd/internal/operate/admin/pagediff"
	"github.com/graspd/graspd/internal/status"
)

// fact is one figure of a summary. ID is the id of its cell.
type fact struct{ ID, Name, Value string }

// Facts returns the figures of the whole relay, each under the name that the legend explains.
func (d *document) Facts() []fact {
	s := d.View.Status
	facts := []fact{
		{"events", "events stored", number(uint64(max(0, s.Store.Events)))}, {"repositories-stored", "repositories stored", number(uint64(max(0, s.Store.Repositories)))},
		{"disk", "on the disk", s.Store.Bytes.String()},
	}
	if free := s.Store.Disk; free != nil {
		facts = append(facts, fact{"free", "free on the disk", free.FreeBytes.String()})
	}
	if g := s.GitDisk; g != nil {
		facts = append(facts, fact{"git-disk", "free for git data", g.FreeBytes.String()})
	}
	if c := s.Clients; c != nil {
		facts = append(facts, fact{"clients", "clients", number(uint64(c.Connections))}, fact{"subscriptions", "subscriptions", number(uint64(c.Subscriptions))})
	}
	if d.View.Sync {
		facts = append(facts, fact{"tracked", "relays followed", number(uint64(s.Sync.Tracked))}, fact{"connected", "connected", number(uint64(s.Sync.Connected))},
			fact{"dead", "dead", number(uint64(s.Sync.Dead))})
	}
	return facts
}

// overview fills the page with the worst of everything.
func (d *document) overview(h *history) error {
	for _, name := range parts {
		if err := d.fill(name, name, d.View); err != nil {
			return err
		}
	}
	for _, f := range d.Facts() {
		d.cells.Cells = append(d.cells.Cells, pagediff.Cell{ID: "fact-" + f.ID, HTML: f.Value})
	}
	relays, repositories := d.View.Relays, d.View.held.list
	if err := d.search(relaysPage, pageOf(1, len(relays)), len(relays)); err != nil {
		return err
	}
	if err := d.search(repositoriesPage, pageOf(1, len(repositories)), len(repositories)); err != nil {
		return err
	}
	if err := d.relayTable(h, relays[:min(perPage, len(relays))]); err != nil {
		return err
	}
	return d.repositoryTable(repositories[:min(perPage, len(repositories))])
}

// chip is a state, the number of items in it, and the link to these.
type chip struct {
	Name  string
	Count int
	To    where
	Here  bool
}

// search has what stands above a list and below it: the states with their numbers, the part that is shown, and the links to others.
type search struct {
	What     string // relays or repositories
	Chips    []chip
	Part     paged
	Overview bool  // it is one of several lists, and All leads to the whole
	All      where // the list without a search
	First    string
	Prev     string
	Next     string
	Last     string
}

// links fills in the links to the other parts of the page's list.
func (s *search) links(at where) {
	if s.Part.Page > 1 {
		s.First, s.Prev = at.at(1).String(), at.at(s.Part.Page-1).String()
	}
	if s.Part.Page < s.Part.Pages {
		s.Next, s.Last = at.at(s.Part.Page+1).String(), at.at(s.Part.Pages).String()
	}
}

// search fills in the cells above and below a list of so many items, of which the page shows part.
func (d *document) search(list string, part paged, all int) error {
	s := search{What: list, Part: part, Overview: d.Path == overviewPage, All: where{Path: list, Page: 1}}
	s.links(d.where)
	count := map[string]int{}
	names := repositoryStates
	if list == relaysPage {
		names = nil
		for _, x := range status.States() {
			names = append(names, x.Name)
		}
		for i := range d.View.Relays {
			count[d.View.Relays[i].State()]++
		}
	} else {
		count = d.View.held.count
	}
	s.Chips = append(s.Chips, chip{"all", all, where{Path: list, Page: 1}, d.Path == list && d.State == "" && d.Query == ""})
	for _, name := range names {
		if count[name] > 0 || d.State == name {
			s.Chips = append(s.Chips, chip{name, count[name], where{Path: list, State: name, Page: 1}, d.Path == list && d.State == name})
		}
	}
	if err := d.fill(list+"-chips", "chips", s); err != nil {
		return err
	}
	return d.fill(list+"-part", "part", s)
}

// relays fills the page with the list of all relays, or of those that fit a search.
func (d *document) relays(h *history) error {
	d.Title, d.Heading = "Relays", "Relays"
	list := chooseRelays(d.View.Relays, d.where)
	part := pageOf(d.Page, len(list))
	if err := d.search(relaysPage, part, len(d.View.Relays)); err != nil {
		return err
	}
	return d.relayTable(h, list[part.From:part.To])
}

// repositories fills the page with the list of all repositories, or of those that fit a search.
func (d *document) repositories() error {
	d.Title, d.Heading = "Repositories", "Repositories"
	held := d.View.held
	list := held.choose(d.where)
	part := pageOf(d.Page, len(list))
	if err := d.search(repositoriesPage, part, len(held.list)); err != nil {
		return err
	}
	return d.repositoryTable(held.some(list[part.From:part.To]))
}

// some returns the repositories at these places of the list.
func (h *holdings) some(places []int) []repository {
	out := make([]repository, 0, len(places))
	for _, i := range places {
		out = append(out, h.list[i])
	}
	return out
}

func unknown(what string) error { return fmt.Errorf("%s %w", what, errUnknown) }

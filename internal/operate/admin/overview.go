package admin

import (
	"fmt"
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
func (d *document) overview(h *history) {
	relays, repositories := d.View.Relays, d.View.held.list
	d.Gaps = d.titled(d.View.held.gaps)
	d.relayList(h, relays[:min(perPage, len(relays))], pageOf(1, len(relays)))
	d.repositoryList(repositories[:min(perPage, len(repositories))], pageOf(1, len(repositories)))
}

// chip is a state, the number of items in it, and the link to these.
type chip struct {
	Name  string
	Count int
	To    pageRef
	Here  bool
}

// list is a list of relays or of repositories that is shown in parts: the states with their numbers, the part that is shown, and the links to
// others.
type list struct {
	What         string // relays or repositories
	Query        string // what is searched in it
	Chips        []chip
	Part         paged
	Overview     bool    // it is one of several lists, and All leads to the whole
	All          pageRef // the list without a search
	May          bool    // its rows have buttons
	First        string
	Prev         string
	Next         string
	Last         string
	Empty        string // why it is, where it is
	Relays       []relayRow
	Repositories []repositoryRow
}

// newList returns a list of which the page shows part, without rows.
func (d *document) newList(what string, part paged) list {
	l := list{What: what, Part: part, Overview: d.Path == overviewPage, May: d.May, All: pageRef{Path: what, Page: 1}}
	if part.Page > 1 {
		l.First, l.Prev = d.at(1).String(), d.at(part.Page-1).String()
	}
	if part.Page < part.Pages {
		l.Next, l.Last = d.at(part.Page+1).String(), d.at(part.Pages).String()
	}
	if d.Path == what {
		l.Query = d.Query
	}
	return l
}

// states adds the states of a list of so many items, each with the number of items in it.
func (d *document) states(l *list, all int, names []string, count map[string]int) {
	l.Chips = append(l.Chips, chip{"all", all, l.All, d.Path == l.What && d.State == "" && d.Query == ""})
	for _, name := range names {
		if count[name] > 0 || d.State == name {
			l.Chips = append(l.Chips, chip{name, count[name], pageRef{Path: l.What, State: name, Page: 1}, d.Path == l.What && d.State == name})
		}
	}
}

// relays fills the page with the list of all relays, or of those that fit a search.
func (d *document) relays(h *history) {
	d.Title, d.Heading = "Relays", "Relays"
	fit := chooseRelays(d.View.Relays, d.pageRef)
	part := pageOf(d.Page, len(fit))
	d.relayList(h, fit[part.From:part.To], part)
}

// repositories fills the page with the list of all repositories, or of those that fit a search.
func (d *document) repositories() {
	d.Title, d.Heading = "Repositories", "Repositories"
	held := d.View.held
	fit := held.choose(d.pageRef, d.c.about)
	part := pageOf(d.Page, len(fit))
	d.repositoryList(held.some(fit[part.From:part.To]), part)
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

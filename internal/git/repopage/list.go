package repopage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of lists.
const (
	perList      = 30   // threads on one page
	mostListed   = 2000 // threads that are counted and searched at once
	mostFiltered = 30   // labels to choose from, the most frequent
	mostQuery    = 200  // bytes
	mostSearched = 400  // bytes of a thread's text
	listsBytes   = 16 << 20
)

// listing is a page of issues, patches or pull requests, the newest first.
type listing struct {
	Only, Label, Query string // what is chosen: a status, a label and words; "" for all
	Status, Labels     []choice
	Found              int
	Threads            []thread
	Page               int
	Prev, Next         string // queries of the pages beside this one, "" for none
	Further            string // the query of the threads beyond those that were counted, "" for none
}

// choice is a status or a label by which a list is filtered, with how many threads there are of it among those that meet the rest of the
// filter.
type choice struct {
	Name, Query string
	Count       int
	Chosen      bool
}

// cursor is where a list begins: behind an event.
type cursor struct {
	time int64
	id   nostr.ID
}

func (p cursor) String() string { return fmt.Sprintf("%d-%s", p.time, p.id) }

func parseCursor(s string) (p cursor, err error) {
	t, id, ok := strings.Cut(s, "-")
	if !ok {
		return p, errors.New("no place")
	}
	if p.time, err = strconv.ParseInt(t, 10, 64); err != nil {
		return p, err
	}
	p.id, err = nostr.ParseID(id)
	return p, err
}

// catalog has the threads of a section behind a cursor, as many as the work for one page allows.
type catalog struct {
	threads []listed
	rest    cursor // the last event that was read; zero where there are no more
}

type listed struct {
	thread
	search string // in lower case
}

// shelf names a catalog.
type shelf struct {
	of      nip34.Address
	section string
	after   cursor
}

// cost returns about how many bytes it takes.
func (c *catalog) cost() int {
	cost := 200
	for _, t := range c.threads {
		cost += 500 + len(t.Subject) + len(t.By) + len(t.Path) + len(t.search)
	}
	return cost
}

// list returns one page of a section.
func (p *Pages) list(ctx context.Context, k *known, of nip34.Address, what section, q url.Values) (*listing, error) {
	after, err := parseCursor(q.Get("after"))
	if err != nil {
		after = cursor{} // a query without a cursor begins at the beginning
	}
	at := shelf{of, what.Path, after}
	c, ok := p.catalogs.get(at, p.Now())
	if !ok {
		now := p.Now()
		if c, err = p.catalog(ctx, k, of.D, what, after); err != nil {
			return nil, err
		}
		p.catalogs.put(at, c, now.Add(keptTime), c.cost())
	}
	_ = k.b.charge(len(c.threads))
	return c.show(what, q)
}

// statusUnknown is said of a thread where it would take too much work to read what became of it.
const statusUnknown = "unknown"

// catalog reads the threads of a section behind a cursor. It fails with errCostly where the work allows none.
func (p *Pages) catalog(ctx context.Context, k *known, d string, what section, after cursor) (*catalog, error) {
	b := k.b
	f := nostr.Filter{Kinds: []nostr.Kind{what.kind}, Tags: []nostr.TagFilter{{Name: 'a', Values: addresses(d, k.set.Members)}}}
	behind := after == cursor{}
	if !behind {
		f.Until = &after.time
	}
	call := p.people(k.view, b)
	c := &catalog{}
	last := cursor{}
	m := k.view.Metered(b.toEnd)
	for pair, err := range m.Pairs(ctx, f, false) {
		costly := errors.Is(err, errCostly) // what stands before the next thread is too much
		if err != nil && !costly {
			return nil, err
		}
		if !behind && !costly { // events of the same second come in the order of their ids
			if pair.Time == after.time && pair.ID.Compare(after.id) <= 0 {
				continue
			}
			behind = true
		}
		if costly || b.err() != nil || len(c.threads) == mostListed {
			if c.rest = last; last == (cursor{}) {
				return nil, errCostly
			}
			return c, nil
		}
		last = cursor{pair.Time, pair.ID}
		_ = b.charge(stepsOfEvent)
		e, ok, err := k.view.Get(pair.ID)
		if err != nil {
			return nil, err
		}
		if !ok || !begins(e) {
			continue
		}
		t, err := threadOf(ctx, m, k.path, e, k.set, call)
		if errors.Is(err, errCostly) { // the list goes on behind it
			t.Subject, t.Status, err = subjectOf(e), statusUnknown, nil
		}
		if err != nil {
			return nil, err
		}
		text, _ := safetext.Cut(e.Content, mostSearched)
		t.Kind = "" // all are of one
		c.threads = append(c.threads, listed{t, strings.ToLower(t.Subject + "\n" + t.By + "\n" + strings.Join(t.Labels, "\n") + "\n" + subjectOf(e) + "\n" + text)})
	}
	return c, nil
}

// show filters the threads, and counts them.
func (c *catalog) show(what section, q url.Values) (*listing, error) {
	page, err := numberIn(q, "page")
	if err != nil {
		return nil, err
	}
	l := &listing{Page: page}
	l.Label, _ = safetext.Cut(strings.ToValidUTF8(q.Get("label"), ""), mostLabel+len("…"))
	l.Query, _ = safetext.Cut(strings.TrimSpace(strings.ToValidUTF8(q.Get("q"), "")), mostQuery)
	states := []string{"open", what.done, "closed", "draft"}
	if slices.Contains(states, q.Get("status")) {
		l.Only = q.Get("status")
	}
	by := map[string]int{}
	labels := map[string]int{}
	words := strings.Fields(strings.ToLower(l.Query))
	from := (min(l.Page, mostListed) - 1) * perList
	for _, t := range c.threads {
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(t.search, w) }) {
			continue
		}
		inStatus, inLabel := l.Only == "" || t.Status == l.Only, l.Label == "" || slices.Contains(t.Labels, l.Label)
		if inLabel {
			by[t.Status]++
			by[""]++
		}
		if !inStatus {
			continue
		}
		for _, x := range t.Labels {
			labels[x]++
		}
		if !inLabel {
			continue
		}
		if l.Found++; l.Found > from && len(l.Threads) < perList {
			l.Threads = append(l.Threads, t.thread)
		}
	}
	if l.Page > 1 && len(l.Threads) == 0 {
		return nil, errNothing
	}
	l.choose(q.Get("after"), states, by, labels)
	if l.Page > 1 {
		l.Prev = l.query(q.Get("after"), l.Only, l.Label, l.Page-1)
	}
	if from+len(l.Threads) < l.Found {
		l.Next = l.query(q.Get("after"), l.Only, l.Label, l.Page+1)
	}
	if c.rest != (cursor{}) {
		l.Further = l.query(c.rest.String(), l.Only, l.Label, 1)
	}
	return l, nil
}

// choose makes what a reader may choose.
func (l *listing) choose(after string, states []string, by, labels map[string]int) {
	for _, s := range append([]string{""}, states...) {
		l.Status = append(l.Status, choice{cmp.Or(s, "all"), l.query(after, s, l.Label, 1), by[s], s == l.Only})
	}
	names := slices.SortedFunc(maps.Keys(labels), func(a, b string) int { return cmp.Or(labels[b]-labels[a], strings.Compare(a, b)) })
	names = names[:min(len(names), mostFiltered)]
	if l.Label != "" && !slices.Contains(names, l.Label) {
		names = append(names, l.Label)
	}
	for _, name := range names {
		other := name
		if name == l.Label { // choosing it again lets it go
			other = ""
		}
		l.Labels = append(l.Labels, choice{name, l.query(after, l.Only, other, 1), labels[name], name == l.Label})
	}
}

// query returns the query of a page of the list with the same words.
func (l *listing) query(after, status, label string, page int) string {
	q := url.Values{}
	for name, value := range map[string]string{"after": after, "status": status, "label": label, "q": l.Query} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return "?" + q.Encode()
}

// threadOf makes a line of a list on a page of the repository at a path.
func threadOf(ctx context.Context, s *store.View, path string, e *nostr.Event, set *grasp.Set, call *people) (thread, error) {
	x, err := standingOf(ctx, s, e, set)
	return thread{
		Kind: nip34.NameOf(e.Kind), Subject: x.Subject, Status: statusName(e.Kind, x.Status), By: call.call(e.PubKey), Day: moment(e.CreatedAt)[:10],
		Path: path + "/" + sectionOf(e.Kind) + "/" + nip19.Note(e.ID), Labels: x.Labels,
	}, err
}

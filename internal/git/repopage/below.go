package repopage

import (
	"cmp"
	"context"
	"errors"
	"net/http"
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
	"github.com/graspd/graspd/internal/serve/front"
)

// known is a repository whose announcement is served, opened for a page. The caller of open calls end.
type known struct {
	of   nip34.Address
	repo Repository
	view *store.View
	name string
	path string // of its own page
	set  *grasp.Set
	b    *bill
	end  func()
}

// open takes a place among the pages that are being made, and gathers who decides for a repository. It waits for a place, and fails with
// errNothing where the announcement is not served. After success the caller calls end.
func (p *Pages) open(ctx context.Context, of nip34.Address, from front.Client) (*known, error) {
	r, found, err := p.Find(of)
	if err != nil || !found {
		return nil, errors.Join(err, errNothing)
	}
	end, err := p.place(ctx, of, from)
	if err != nil {
		return nil, err
	}
	k := &known{of: of, repo: r, view: p.Store.View(), b: p.bill(from.Visitor)}
	k.end = func() { k.view.Close(); end() }
	if err = p.fill(k, of); err != nil {
		k.end()
		return nil, err
	}
	return k, nil
}

func (p *Pages) fill(k *known, of nip34.Address) error {
	var err error
	if k.name, err = named(k.view, of); err != nil {
		return err
	}
	k.path = p.path(of)
	k.set, err = p.members(k.view, of, k.b)
	return err
}

// named returns what a repository is called. It fails with errNothing where its announcement waits: the relay shows nobody what waits.
func named(s *store.View, of nip34.Address) (string, error) {
	e, ok, err := s.At(of.String())
	if err != nil || !ok {
		return "", cmp.Or(err, errNothing)
	}
	a, err := nip34.ParseAnnouncement(e)
	if err != nil {
		return safetext.Line(of.D, mostName), nil
	}
	return nameOf(a), nil
}

// below makes a page below that of a repository: a list, or a thread.
func (p *Pages) below(ctx context.Context, of nip34.Address, rest string, q url.Values, from front.Client) ([]byte, error) {
	k, err := p.open(ctx, of, from)
	if err != nil {
		return nil, err
	}
	defer func() { k.end() }()
	section, name, one := strings.Cut(rest, "/")
	x := page{frame: frame{Path: k.path, Name: k.name, Canonical: p.Service.CloneURL(of.PubKey, of.D) + "/" + rest}}
	if !one {
		what, _ := sectionAt(section)
		x.Title, x.Summary, x.Tab, x.template = what.Name, what.Name+" of "+k.name, section, "list.html"
		if x.content, err = p.list(ctx, k, of, what, q); err != nil {
			return nil, err
		}
		return p.render(x)
	}
	e, err := p.event(k, name)
	if err != nil {
		return nil, err
	}
	if right := sectionOf(e.Kind) + "/" + nip19.Note(e.ID); right != rest {
		return nil, movedTo(k.path + "/" + right)
	}
	part, err := numberIn(q, "page")
	if err != nil {
		return nil, err
	}
	if part > 1 {
		x.Canonical += "?page=" + strconv.Itoa(part)
	}
	is, err := standingOf(ctx, k.view.Metered(k.b.charge), e, k.set)
	if err != nil {
		return nil, err
	}
	x.Title, x.template = is.Subject, "item.html"
	x.Summary = nip34.NameOf(e.Kind) + " of " + k.name + ": " + x.Title
	var commits *pull
	if e.Kind == nip34.KindPullRequest {
		if commits, err = p.pull(ctx, k, e, q, from); err != nil {
			return nil, err
		}
	}
	left, texts := k.b.left, k.b.texts
	if x.content, err = p.item(ctx, k, e, is, commits, part); err == nil && len(k.b.short.asked) > 0 {
		if err = k.lookUp(ctx, p, from); err == nil {
			k.b.left, k.b.texts = left, texts
			x.content, err = p.item(ctx, k, e, is, commits, part)
		}
	}
	if err != nil {
		return nil, err
	}
	return p.render(x)
}

// event returns the thread with a name, which is a note, an nevent or an id. It fails with errNothing where the repository has none.
func (p *Pages) event(k *known, name string) (*nostr.Event, error) {
	id, err := nip19.ParseEvent(name)
	if err != nil {
		if id, err = nostr.ParseID(name); err != nil {
			return nil, errNothing
		}
	}
	e, ok, err := k.view.Get(id)
	if err == nil && (!ok || sectionOf(e.Kind) == "" || !belongs(e, k.of.D, k.set)) {
		err = errNothing
	}
	return e, err
}

// belongs reports whether a thread names the repository of one of those who decide.
func belongs(e *nostr.Event, d string, set *grasp.Set) bool {
	return slices.ContainsFunc(nip34.Repositories(e), func(a nip34.Address) bool { return a.D == d && set.Has(a.PubKey) })
}

// lead redirects from the name of an event to the page that shows it.
func (p *Pages) lead(w http.ResponseWriter, req *http.Request, name string, from front.Client) {
	to, err := p.placeOf(name, from)
	switch {
	case err != nil:
		p.Logger.Error("an event cannot be looked up", "error", err)
		p.fail(w, req, http.StatusInternalServerError, "This server has a fault", "Try again later.")
	case to == "":
		p.fail(w, req, http.StatusNotFound, "There is no such event here", "It may have been deleted, or is about nothing that is here.")
	default:
		http.Redirect(w, req, to, http.StatusFound)
	}
}

// placeOf returns the path of the page that shows an event; "" where no page does. It charges the visitor.
func (p *Pages) placeOf(name string, from front.Client) (string, error) {
	id, err := nip19.ParseEvent(name)
	if err != nil {
		return "", nil
	}
	s := p.Store.View()
	defer s.Close()
	from.Visitor.Charge(10 * stepsOfEvent)
	return p.pathOf(s, id)
}

// pathOf returns the path of the page that shows an event, with a fragment for an event that stands on the page of another one; "" where
// no page does.
func (p *Pages) pathOf(s *store.View, id nostr.ID) (string, error) {
	at := ""
	for range 2 { // first a comment or an update, then the thread that it is about
		e, ok, err := s.Get(id)
		if err != nil || !ok {
			return "", err
		}
		if sectionOf(e.Kind) == "" {
			at = "#" + nip19.Note(id)
			if id = follows(e); id == (nostr.ID{}) {
				return "", nil
			}
			continue
		}
		repositories := nip34.Repositories(e)
		for _, a := range repositories[:min(len(repositories), 5)] {
			if _, found, err := p.Find(a); err != nil {
				return "", err
			} else if !found {
				continue
			}
			if here, err := s.HasAddress(a.String()); err != nil {
				return "", err
			} else if here {
				return p.path(a) + "/" + sectionOf(e.Kind) + "/" + nip19.Note(id) + at, nil
			}
		}
		return "", nil
	}
	return "", nil
}

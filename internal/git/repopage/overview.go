package repopage

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/markdown"
)

// Bounds of what one page shows.
const (
	mostRefs    = 200 // so many branches, and so many tags
	mostMembers = 20
	mostWeb     = 3
	mostName    = 200
	mostAbout   = 4000
)

// overview has what the page of a repository shows within its frame.
type overview struct {
	Clone, Nostr, Client string
	Web                  []string
	Code                 string // the path of the repository's page, below which are those of its files; "" without them
	Waits                bool   // its announcement waits for git data
	Data                 bool
	Who                  deciders
	Refs                 refsShown
	Readme               readme
	Threads              []thread
	Plot                 template.HTML // "" without events
	Costly               bool          // reading the threads would have taken too much work
}

// deciders has who decides for a repository.
type deciders struct {
	Owner       person
	Maintainers []person // beside the owner
	More        int      // maintainers beyond these
}

// refsShown has the refs that git sees.
type refsShown struct {
	Head     string
	Unborn   bool // there is no branch Head
	Branches refList
	Tags     refList
	Pulls    int // refs of pull requests
}

// refList has the refs that are shown, and how many there are.
type refList struct {
	All   int
	Shown []ref
	Dated bool // Shown has the newest, and not the first by name
}

// linkedRefs are refs whose files have pages below the path Code, where that is not "".
type linkedRefs struct {
	refList
	Code string
}

// person is somebody's key, the name in their profile, "" without one, and the path of their page.
type person struct{ Npub, Name, Path string }

// path returns the path of the page of a repository.
func (p *Pages) path(of nip34.Address) string {
	return p.Service.Base() + "/" + nip19.Npub(of.PubKey) + "/" + grasp.Escape(of.D) + ".git"
}

// ref is a branch or tag: its name without the prefix, a short id, and the day of that commit, "" where it is not known. At is its name in paths,
// escaped; "" for what is no commit.
type ref struct{ Name, ID, Day, At string }

// errCostly says that a page would take more work than Config.Work.
var errCostly = errors.New("too much work")

// bill counts the work for one page and charges the visitor for it.
type bill struct {
	visitor    *front.Visitor
	most, left int
	texts      int // steps that are left for rendering texts
	short      shortIDs
}

func (p *Pages) bill(visitor *front.Visitor) *bill {
	return &bill{visitor: visitor, most: p.Work, left: p.Work, texts: mostRendered}
}

func (b *bill) charge(steps int) error {
	b.visitor.Charge(steps)
	b.left -= steps
	return b.err()
}

// toEnd charges like charge, for work that comes to its end once it is begun. It fails only when the page has taken twice as much as it may.
func (b *bill) toEnd(steps int) error {
	if err := b.charge(steps); err != nil && b.left < -b.most {
		return err
	}
	return nil
}

// err fails with errCostly when the page has taken too much work.
func (b *bill) err() error {
	if b.left < 0 {
		return errCostly
	}
	return nil
}

// see gathers what the page of a repository shows, and charges the visitor.
func (p *Pages) see(ctx context.Context, of nip34.Address, r Repository, l looked, visitor *front.Visitor) (page, error) {
	v := &overview{
		Clone: p.Service.CloneURL(of.PubKey, of.D), Nostr: p.Service.NostrURL(of.PubKey, of.D),
		Client: p.Service.ClientURL(of.PubKey, of.D), Data: r.Dir != "", Who: deciders{Owner: person{Npub: nip19.Npub(of.PubKey)}},
	}
	x := page{frame{Title: safetext.Line(of.D, mostName), Canonical: v.Clone}, "overview.html", v}
	if r.Refs != nil {
		v.Refs = refsOf(r.Refs, l)
	}
	b := p.bill(visitor)
	s := p.Store.View()
	defer s.Close()
	e, ok, err := s.At(of.String())
	if err != nil {
		return x, err
	}
	if !ok {
		v.Waits = true // and the relay shows nobody what the announcement says
		return x, nil
	}
	x.Path, x.Tab = p.path(of), "overview"
	if p.Code != nil && v.Data {
		v.Code = x.Path
	}
	if a, err := nip34.ParseAnnouncement(e); err == nil {
		x.Title, x.Lead = nameOf(a), aboutOf(a)
		v.Web = slices.DeleteFunc(grasp.WebPages(a, mostWeb), func(url string) bool { return url == v.Client })
		x.Summary = safetext.Line(x.Lead, mostSubject)
	}
	set, err := p.members(s, of, b)
	if err != nil {
		return x, err
	}
	call := p.people(s, b)
	v.Who = decidersOf(of.PubKey, set, call)
	if v.Readme = l.readme; l.text != "" {
		o := markdown.Options{}
		if p.Code != nil {
			o = p.linked(x.Path, "HEAD", dirOf(l.readme.Name))
		}
		o.Reference = call.refer
		v.Readme.Text = p.readme(ctx, b, l.readme.Name, l.text, o)
	}
	v.Threads, err = threads(ctx, s.Metered(b.charge), b, x.Path, of.D, set, call)
	if err == nil {
		var weeks [plotWeeks]int
		var more bool
		if weeks, more, err = p.activity(ctx, s.Metered(b.charge), of.D, set); err == nil {
			v.Plot = plot(weeks, more)
		}
	}
	if errors.Is(err, errCostly) {
		v.Costly, err = true, nil
	}
	return x, err
}

// nameOf returns what a repository is called: its name, else its identifier.
func nameOf(a *nip34.Announcement) string {
	name := a.Address.D
	if strings.TrimSpace(a.Name) != "" {
		name = a.Name
	}
	return safetext.Line(name, mostName)
}

func aboutOf(a *nip34.Announcement) string {
	about, cut := safetext.Cut(strings.ToValidUTF8(strings.TrimSpace(a.Description), "\uFFFD"), mostAbout)
	if cut {
		about += "…"
	}
	return about
}

// members returns who decides for the repository.
func (p *Pages) members(s *store.View, of nip34.Address, b *bill) (*grasp.Set, error) {
	same, err := s.Announcements(of.D)
	if err != nil {
		return nil, err
	}
	_ = b.charge(35 * len(same)) // the announcements are read already; what follows sees an overdrawn bill
	rules := p.Rules()
	return grasp.FamilyOf(rules.Gather(same).Listings()).Councils().Of(of.PubKey), nil
}

func decidersOf(owner nostr.PubKey, set *grasp.Set, call *people) (d deciders) {
	called := func(pk nostr.PubKey) person {
		name, _, named := strings.Cut(call.call(pk), " (")
		if !named {
			name = ""
		}
		return person{nip19.Npub(pk), name, call.page(pk)}
	}
	d.Owner = person{Npub: nip19.Npub(owner), Path: call.page(owner)}
	for _, pk := range set.Members {
		switch {
		case pk == owner:
			d.Owner = called(pk)
		case len(d.Maintainers) < mostMembers:
			d.Maintainers = append(d.Maintainers, called(pk))
		default:
			d.More++
		}
	}
	return d
}

func refsOf(all *gitwire.Refs, l looked) refsShown {
	_, born := all.Find("HEAD")
	v := refsShown{Head: strings.TrimPrefix(all.Head, "refs/heads/"), Unborn: all.Head != "" && !born, Branches: l.branches, Tags: l.tags}
	if v.Branches.All+v.Tags.All == 0 {
		v.Branches, v.Tags = newest(all, nil)
	}
	v.Pulls = len(all.List) - v.Branches.All - v.Tags.All
	return v
}

// newest returns the branches and tags that a page shows, the newest first by the times of their tips, and then those whose time is not
// known. Without times they are the first by name.
func newest(all *gitwire.Refs, times map[gitwire.ObjectID]int64) (branches, tags refList) {
	var heads, marks []gitwire.Ref
	for _, r := range all.List {
		switch {
		case strings.HasPrefix(r.Name, "refs/heads/"):
			heads = append(heads, r)
		case strings.HasPrefix(r.Name, "refs/tags/"):
			marks = append(marks, r)
		}
	}
	return listOf(all, heads, len("refs/heads/"), times), listOf(all, marks, len("refs/tags/"), times)
}

func listOf(all *gitwire.Refs, refs []gitwire.Ref, prefix int, times map[gitwire.ObjectID]int64) refList {
	l := refList{All: len(refs), Dated: len(times) > 0}
	when := func(r gitwire.Ref) int64 {
		if t, ok := times[r.Tip()]; ok {
			return t
		}
		return -1
	}
	slices.SortStableFunc(refs, func(a, b gitwire.Ref) int { return cmp.Compare(when(b), when(a)) })
	for _, r := range refs[:min(len(refs), mostRefs)] {
		x := ref{Name: r.Name[prefix:], ID: r.Tip().String()[:10]}
		t := when(r)
		if t >= 0 {
			x.Day = dayOf(t)
		}
		if t >= 0 || !l.Dated {
			x.At = escapePath(shortRef(all, r))
		}
		l.Shown = append(l.Shown, x)
	}
	return l
}

// addresses returns the addresses of the repositories d of the first mostMembers owners.
func addresses(d string, owners []nostr.PubKey) (all []string) {
	for _, pk := range owners[:min(len(owners), mostMembers)] {
		all = append(all, nip34.Address{Kind: nip34.KindRepository, PubKey: pk, D: d}.String())
	}
	return all
}

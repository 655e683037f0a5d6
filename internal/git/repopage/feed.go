package repopage

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

const (
	perFeed   = 30
	mostDated = 1000 // tags whose times a feed reads
)

// feedOf is a feed of a repository: what it is called, the path of the page with the same, and the kinds of events in it, or how git is asked.
type feedOf struct {
	Name, Page string
	kinds      []nostr.Kind
	git        func(context.Context, *gitread.Reader, *code) ([]web.Entry, error)
}

// feeds has the feeds of a repository by their path.
var feeds = map[string]*feedOf{
	"feed.atom":     {"all", "", nip34.Kinds(nip34.Thread), nil},
	"issues.atom":   {"issues", "/issues", []nostr.Kind{nip34.KindIssue}, nil},
	"pulls.atom":    {"pull requests", "/pulls", []nostr.Kind{nip34.KindPullRequest, nip34.KindPatch}, nil},
	"commits.atom":  {"commits", "/commits/HEAD", nil, newCommits},
	"releases.atom": {"releases", "/tags", nil, newTags},
}

// feedNames are the paths of feeds in the order in which pages name them.
var feedNames = []string{"feed.atom", "issues.atom", "pulls.atom", "commits.atom", "releases.atom"}

// feed makes a feed of a repository.
func (p *Pages) feed(ctx context.Context, of nip34.Address, rest string, from front.Client) ([]byte, error) {
	what, url := feeds[rest], p.Service.CloneURL(of.PubKey, of.D)
	f := web.Feed{ID: url + "/" + rest, Links: []web.Link{{Rel: "self", Type: "application/atom+xml", Href: url + "/" + rest}, {Rel: "alternate", Type: "text/html", Href: url + what.Page}}}
	var err error
	if what.git != nil {
		f.Title, f.Entries, err = p.ofGit(ctx, of, what.git, from)
		f.Updated = web.Stamp(0)
	} else {
		err = p.ofEvents(ctx, &f, of, what.kinds, from)
	}
	if err != nil {
		return nil, err
	}
	if f.Title = safetext.EscapeBidi(f.Title); what.Page != "" {
		f.Title += ": " + what.Name
	}
	if len(f.Entries) > 0 {
		f.Updated = f.Entries[0].Updated
	}
	return f.Bytes()
}

// ofEvents adds the threads of some kinds about which something was done last, the last first, and the name of the repository.
func (p *Pages) ofEvents(ctx context.Context, f *web.Feed, of nip34.Address, kinds []nostr.Kind, from front.Client) error {
	k, err := p.open(ctx, of, from)
	if err != nil {
		return err
	}
	defer func() { k.end() }()
	f.Title, f.Updated = k.name, web.Stamp(0)
	if e, ok, err := k.view.At(of.String()); err == nil && ok {
		f.Updated = web.Stamp(e.CreatedAt)
	}
	call, url := p.people(k.view, k.b), p.Service.CloneURL(of.PubKey, of.D)
	s := k.view.Metered(k.b.charge)
	all, err := lively(ctx, k.view, s, k.of.D, k.set, kinds)
	if err != nil {
		return err
	}
	type dated struct {
		at int64
		web.Entry
	}
	var entries []dated
	for _, e := range all {
		is, last, err := lastOf(ctx, s, e, k.set)
		if errors.Is(err, errCostly) && len(entries) > 0 {
			break
		}
		if err != nil {
			return err
		}
		note := nip19.Note(e.ID)
		summary, cut := safetext.Cut(e.Content, 1000)
		if cut {
			summary += "…"
		}
		entries = append(entries, dated{last, web.Entry{
			Title: safetext.EscapeBidi(is.Subject), ID: "nostr:" + note, Updated: web.Stamp(last), Author: safetext.EscapeBidi(call.call(e.PubKey)),
			Links:    []web.Link{{Rel: "alternate", Type: "text/html", Href: url + "/" + sectionOf(e.Kind) + "/" + note}},
			Category: []web.Category{{Term: nip34.NameOf(e.Kind)}, {Term: statusName(e.Kind, is.Status)}}, Summary: safetext.EscapeBidi(summary),
		}})
	}
	slices.SortStableFunc(entries, func(a, b dated) int { return cmp.Compare(b.at, a.at) })
	for _, x := range entries[:min(len(entries), perFeed)] {
		f.Entries = append(f.Entries, x.Entry)
	}
	return nil
}

// acts are the kinds of events that are about a thread and name its repository.
var acts = append(nip34.Kinds(nip34.Standing), nip34.KindPullRequestUpdate)

// lively returns the newest threads of some kinds, and older ones about which somebody has done something lately. It fails with errCostly where there
// is no time for the newest.
func lively(ctx context.Context, view, s *store.View, d string, set *grasp.Set, kinds []nostr.Kind) (all []*nostr.Event, err error) {
	here := []nostr.TagFilter{{Name: 'a', Values: addresses(d, set.Members)}}
	most, mostActs := mostRead, perFeed
	for e, err := range s.Events(ctx, nostr.Filter{Kinds: kinds, Tags: here, Limit: &most}) {
		if err != nil {
			return nil, err
		}
		if len(all) == perFeed {
			break
		}
		if begins(e) {
			all = append(all, e)
		}
	}
	for e, err := range s.Events(ctx, nostr.Filter{Kinds: acts, Tags: here, Limit: &mostActs}) {
		if errors.Is(err, errCostly) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		id := rootOf(e)
		root, ok, err := view.Get(id)
		if err != nil {
			return nil, err
		}
		if ok && slices.Contains(kinds, root.Kind) && begins(root) && belongs(root, d, set) && !slices.ContainsFunc(all, func(x *nostr.Event) bool { return x.ID == id }) {
			all = append(all, root)
		}
	}
	return all, nil
}

// rootOf returns the thread that a status or an update is about; zero for none.
func rootOf(e *nostr.Event) nostr.ID {
	if e.Kind == nip34.KindPullRequestUpdate {
		return follows(e)
	}
	for t := range e.Tags.All("e") {
		if id, err := nostr.ParseID(t.Value()); err == nil && about(e, id) {
			return id
		}
	}
	return nostr.ID{}
}

// lastOf returns what a thread is, and when something was last done about it: when it began, was commented, changed by who may change it, or updated by
// its author.
func lastOf(ctx context.Context, s *store.View, root *nostr.Event, set *grasp.Set) (is standing, last int64, err error) {
	if is, err = standingOf(ctx, s, root, set); err != nil {
		return is, 0, err
	}
	last = is.Changed
	for _, f := range []nostr.Filter{{Kinds: []nostr.Kind{nostr.KindComment}}, {Kinds: []nostr.Kind{nip34.KindPullRequestUpdate}, Authors: []nostr.PubKey{root.PubKey}}} {
		said, err := naming(ctx, s, 'E', root, 1, f)
		if err != nil {
			return is, 0, err
		}
		for _, e := range said {
			last = max(last, e.CreatedAt)
		}
	}
	return is, last, nil
}

// ofGit returns the name of a repository, and entries that git is asked for.
func (p *Pages) ofGit(ctx context.Context, of nip34.Address, ask func(context.Context, *gitread.Reader, *code) ([]web.Entry, error), from front.Client) (name string, all []web.Entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, codeTime)
	defer cancel()
	c, err := p.codeOf(of, from)
	if err == nil {
		err = c.data(p)
	}
	if err == nil {
		name, c.url = c.name, p.Service.CloneURL(of.PubKey, of.D)
		all, err = ask(ctx, p.Code, c)
	}
	var x wrong
	if errors.As(inWords(err), &x) {
		if err = errCostly; x.status == http.StatusNotFound {
			err = errNothing
		}
	}
	return name, all, err
}

// newCommits returns the newest commits of HEAD.
func newCommits(ctx context.Context, r *gitread.Reader, c *code) (out []web.Entry, err error) {
	head, ok := c.r.Refs.Find("HEAD")
	if !ok {
		return nil, nil
	}
	all, err := r.Commits(ctx, c.read, head.ID, gitwire.ObjectID{}, perFeed)
	for _, x := range all {
		out = append(out, c.feedEntry(x, c.line(x).Subject, "commit/"+x.ID.String(), "commit", x.Body))
	}
	return out, err
}

// newTags returns the newest tags by the times of their commits.
func newTags(ctx context.Context, reader *gitread.Reader, c *code) (out []web.Entry, err error) {
	var tags []gitwire.Ref
	var ids []gitwire.ObjectID
	for _, r := range c.r.Refs.List {
		if strings.HasPrefix(r.Name, "refs/tags/") {
			tags, ids = append(tags, r), append(ids, r.Tip())
		}
	}
	found, err := reader.Dated(ctx, c.read, ids[max(0, len(ids)-mostDated):]) // of very many the last by name, as versions grow
	if err != nil {
		return nil, err
	}
	tags = slices.DeleteFunc(tags, func(r gitwire.Ref) bool { return found[r.Tip()] == nil })
	slices.SortStableFunc(tags, func(a, b gitwire.Ref) int {
		return cmp.Compare(found[b.Tip()].Committer.When.Unix(), found[a.Tip()].Committer.When.Unix())
	})
	for _, r := range tags[:min(len(tags), perFeed)] {
		x := found[r.Tip()]
		at := escapePath(shortRef(c.r.Refs, r))
		e := c.feedEntry(x, shown(strings.TrimPrefix(r.Name, "refs/tags/")), "tree/"+at, "release", x.Subject)
		e.Links = append(e.Links, web.Link{Rel: "enclosure", Type: "application/gzip", Href: c.url + "/archive/" + at + ".tar.gz"})
		out = append(out, e)
	}
	return out, nil
}

// feedEntry makes an entry of a commit, or of a tag that leads to it, with the path of a page below the repository's.
func (c *code) feedEntry(x *gitread.Commit, title, path, kind, text string) web.Entry {
	url := c.url + "/" + path
	text, _ = safetext.Cut(strings.ToValidUTF8(text, "\uFFFD"), 1000)
	return web.Entry{
		Title: safetext.EscapeBidi(title), ID: url, Updated: web.Stamp(max(0, x.Committer.When.Unix())), Author: safetext.EscapeBidi(shown(x.Author.Name)),
		Links: []web.Link{{Rel: "alternate", Type: "text/html", Href: url}}, Category: []web.Category{{Term: kind}}, Summary: safetext.EscapeBidi(text),
	}
}

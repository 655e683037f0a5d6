package repopage

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

const mostAuthored = 200 // repositories on the page of their owner, the newest announcements

// author has what the page of somebody shows: their repositories here.
type author struct {
	Client string // their page in a web client
	Owned  []owned
	More   bool
}

type owned struct{ Name, About, Day, Path string }

// authorOf reads a path below the base that names somebody alone, or a repository without ".git" or a page of it. right is the path of that with
// ".git", "" for somebody alone.
func authorOf(below string) (name, right string, ok bool) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(below, "/"), "/")
	repository, page, more := strings.Cut(rest, "/")
	switch {
	case !strings.HasPrefix(name, "npub1") || strings.HasSuffix(repository, ".git") || more && !isPage(page):
		return "", "", false
	case rest == "":
		return name, "", true
	case more:
		page = "/" + page
	}
	return name, "/" + name + "/" + repository + ".git" + page, true
}

// isPage reports whether a path below that of a repository is one of its pages or feeds.
func isPage(rest string) bool {
	section, _, _ := strings.Cut(rest, "/")
	_, lists := sectionAt(section)
	return lists || codePages[section] != nil || feeds[rest] != nil
}

// author answers a request for the page of somebody, or redirects to the repository that the path names.
func (p *Pages) author(w http.ResponseWriter, req *http.Request, name, right string, from front.Client) {
	if right != "" {
		http.Redirect(w, req, p.Service.Base()+asAsked(right, req), http.StatusMovedPermanently)
		return
	}
	who, err := nip19.ParsePubKey(name)
	var body []byte
	if err != nil {
		err = errNothing
	} else {
		body, err = p.authorPage(req.Context(), who, from)
	}
	if errors.Is(err, errNothing) {
		p.fail(w, req, http.StatusNotFound, "Nobody with this name has anything here", "People are known by their npub.")
		return
	}
	if err != nil {
		p.failed(w, req, nip34.Address{PubKey: who}, "", false, err)
		return
	}
	p.Look.Answer(w, req, http.StatusOK, web.HTML, body)
}

// authorPage lists the repositories of somebody that are served here. It fails with errNothing for who has nothing here.
func (p *Pages) authorPage(ctx context.Context, who nostr.PubKey, from front.Client) ([]byte, error) {
	end, err := p.place(ctx, nip34.Address{PubKey: who}, from)
	if err != nil {
		return nil, err
	}
	defer end()
	s, b := p.Store.View(), p.bill(from.Visitor)
	defer s.Close()
	rules := p.Rules()
	a := &author{Client: "https://gitworkshop.dev/" + nip19.Npub(who)}
	for e, err := range s.Metered(b.charge).Events(ctx, nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository}, Authors: []nostr.PubKey{who}}) {
		if a.More = errors.Is(err, errCostly) || len(a.Owned) == mostAuthored; a.More {
			break
		}
		if err != nil {
			return nil, err
		}
		r, err := nip34.ParseAnnouncement(e)
		if err == nil && rules.Serves(r) {
			a.Owned = append(a.Owned, owned{nameOf(r), safetext.Line(r.Description, mostSubject), dayOf(e.CreatedAt), p.path(r.Address)})
		}
	}
	if len(a.Owned) == 0 && !a.More {
		if wrote, err := writes(ctx, s.Metered(b.charge), who); err != nil || !wrote {
			return nil, cmp.Or(err, errNothing)
		}
	}
	f := frame{Title: p.people(s, b).call(who), Lead: nip19.Npub(who), Canonical: p.Service.WebURL() + "/" + nip19.Npub(who)}
	f.Summary = "Repositories of " + f.Title
	return p.render(page{f, "author.html", a})
}

// writes reports whether anything of somebody is here, such as a comment, whose page leads to theirs.
func writes(ctx context.Context, s *store.View, who nostr.PubKey) (bool, error) {
	for _, err := range s.Pairs(ctx, nostr.Filter{Authors: []nostr.PubKey{who}}, false) {
		return err == nil, err
	}
	return false, nil
}

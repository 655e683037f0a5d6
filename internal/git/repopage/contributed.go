package repopage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// mostContributed is how many pull requests the page of a contributed repository shows, the newest.
const mostContributed = 30

// contributed has what the page of a contributed repository shows, one that a contributor pushes to (GRASP-06).
type contributed struct {
	URL   string // for git
	By    string
	Npub  string
	All   int // pull requests and updates that are served from it
	Shown []contribution
}

// contribution is one pull request or update, with the path of its page: "" where the repository that it names is not here.
type contribution struct {
	Kind, Subject, For, Day, Ref, Tip, Path string
}

// contributed reports whether a path below the base is one that contributors push to, and returns what follows in it.
func (p *Pages) contributed(path string) (below string, ok bool) {
	if below, ok = strings.CutPrefix(path, grasp.ContributedPath+"/"); ok && p.Contributors {
		return "/" + below, true
	}
	return path, false
}

// contributedPage returns the page of a contributed repository; errNothing where nothing of it is served.
func (p *Pages) contributedPage(ctx context.Context, of nip34.Address, from front.Client) ([]byte, error) {
	r, found, err := p.Find(of)
	if err != nil {
		return nil, err
	}
	if !found || r.Refs == nil || len(r.Refs.List) == 0 {
		return nil, errNothing
	}
	return p.made(ctx, of, r.Generation, from, func() (page, error) { return p.seeContributed(ctx, of, r, from) })
}

func (p *Pages) seeContributed(ctx context.Context, of nip34.Address, r Repository, from front.Client) (page, error) {
	s := p.Store.View()
	defer s.Close()
	b := p.bill(from.Visitor)
	call := p.people(s, b)
	name := safetext.Line(of.D, mostName)
	c := &contributed{URL: p.Service.ContributedURL(of.PubKey, of.D), By: call.call(of.PubKey), Npub: nip19.Npub(of.PubKey), All: len(r.Refs.List)}
	x := page{frame{Title: "Pull requests for " + name, Canonical: c.URL, Summary: "Pull requests of " + c.By + " for " + name}, "contributed.html", c}
	f := nostr.Filter{Kinds: []nostr.Kind{nip34.KindPullRequest, nip34.KindPullRequestUpdate}, Authors: []nostr.PubKey{of.PubKey}}
	for e, err := range s.Metered(b.charge).Events(ctx, f) {
		if errors.Is(err, errCostly) {
			break
		}
		if err != nil {
			return x, err
		}
		ref, ok := r.Refs.Find(refs.TipName(e.ID))
		if !ok {
			continue // it came through another contributed repository
		}
		one := contribution{Kind: "pull request", Subject: subjectOf(e), Day: moment(e.CreatedAt)[:10], Ref: ref.Name, Tip: ref.ID.String()[:10]}
		if e.Kind == nip34.KindPullRequestUpdate {
			one.Kind, one.Subject = "update", "Update of a pull request"
		}
		one.For = namedBy(e, of.D, call)
		if one.Path, err = p.pathOf(s, e.ID); err != nil {
			return x, err
		}
		if c.Shown = append(c.Shown, one); len(c.Shown) == mostContributed || b.charge(5*stepsOfEvent) != nil {
			break
		}
	}
	return x, nil
}

// namedBy names the owners of the repositories with an identifier that a pull request is for.
func namedBy(e *nostr.Event, d string, call *people) string {
	var owner nostr.PubKey
	n := 0
	for _, a := range nip34.Repositories(e) {
		if a.D == d {
			if n == 0 {
				owner = a.PubKey
			}
			n++
		}
	}
	switch {
	case n == 0:
		return ""
	case n == 1:
		return call.call(owner)
	}
	return fmt.Sprintf("%s and %d more", call.call(owner), n-1)
}

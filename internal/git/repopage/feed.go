package repopage

import (
	"context"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

const perFeed = 30

// feeds has the feeds of a repository by their path, and the kinds in each.
var feeds = map[string][]nostr.Kind{
	"feed.atom":   nip34.Kinds(nip34.Thread),
	"issues.atom": {nip34.KindIssue},
}

// feed makes the feed of a repository with the newest threads of some kinds.
func (p *Pages) feed(ctx context.Context, of nip34.Address, kinds []nostr.Kind, from front.Client) ([]byte, error) {
	k, err := p.open(ctx, of, from)
	if err != nil {
		return nil, err
	}
	defer k.end()
	url := p.Service.CloneURL(of.PubKey, of.D)
	title, self, page := k.name, url+"/feed.atom", url
	if len(kinds) == 1 {
		title, self, page = k.name+": issues", url+"/issues.atom", url+"/issues"
	}
	f := web.Feed{Title: safetext.EscapeBidi(title), ID: self, Updated: web.Stamp(0), Links: []web.Link{{Rel: "self", Type: "application/atom+xml", Href: self}, {Rel: "alternate", Type: "text/html", Href: page}}}
	if e, ok, err := k.view.At(of.String()); err == nil && ok {
		f.Updated = web.Stamp(e.CreatedAt)
	}
	most := mostRead
	call := p.people(k.view, k.b)
	filter := nostr.Filter{Kinds: kinds, Tags: []nostr.TagFilter{{Name: 'a', Values: addresses(of.D, k.set.Members)}}, Limit: &most}
	for e, err := range k.view.Metered(k.b.charge).Events(ctx, filter) {
		if err != nil {
			return nil, err
		}
		if !begins(e) {
			continue
		}
		if len(f.Entries) == perFeed {
			break
		}
		note := nip19.Note(e.ID)
		summary, cut := safetext.Cut(e.Content, 1000)
		if cut {
			summary += "…"
		}
		f.Entries = append(f.Entries, web.Entry{
			Title: safetext.EscapeBidi(subjectOf(e)), ID: "nostr:" + note, Updated: web.Stamp(e.CreatedAt), Author: safetext.EscapeBidi(call.call(e.PubKey)),
			Links: []web.Link{{Rel: "alternate", Type: "text/html", Href: url + "/" + sectionOf(e.Kind) + "/" + note}}, Category: []web.Category{{Term: nip34.NameOf(e.Kind)}}, Summary: safetext.EscapeBidi(summary),
		})
	}
	if len(f.Entries) > 0 {
		f.Updated = f.Entries[0].Updated
	}
	return f.Bytes()
}

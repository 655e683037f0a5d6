package repopage

import (
	"bytes"
	"context"
	"encoding/xml"
	"time"

	"github.com/graspd/graspd/internal/bidi"
	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/nip19"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/words"
)

const perFeed = 30

// feeds are those of a repository, by their path, with the kinds that are in them.
var feeds = map[string][]nostr.Kind{
	"feed.atom":   {nip34.KindIssue, nip34.KindPatch, nip34.KindPullRequest},
	"issues.atom": {nip34.KindIssue},
}

// Feed is an Atom feed (RFC 4287).
type Feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	Title   string   `xml:"title"`
	ID      string   `xml:"id"`
	Updated string   `xml:"updated"`
	Links   []Link   `xml:"link"`
	Entries []Entry  `xml:"entry"`
}

// Link leads somewhere from a feed or an entry.
type Link struct {
	Rel  string `xml:"rel,attr,omitempty"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

// Entry is one of a feed. Its ID never changes.
type Entry struct {
	Title    string     `xml:"title"`
	ID       string     `xml:"id"`
	Updated  string     `xml:"updated"`
	Author   string     `xml:"author>name"`
	Links    []Link     `xml:"link"`
	Category []Category `xml:"category"`
	Summary  string     `xml:"summary"`
}

// Category is what sort of thing an entry is.
type Category struct {
	Term string `xml:"term,attr"`
}

// Bytes is the feed as it is sent.
func (f Feed) Bytes() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	err := xml.NewEncoder(&b).Encode(f)
	return b.Bytes(), err
}

// Stamp is a time as feeds write it.
func Stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// feed is the newest of some kinds of a repository.
func (p *Pages) feed(ctx context.Context, of nip34.Address, kinds []nostr.Kind, from front.Client) ([]byte, error) {
	k, err := p.open(ctx, of, from)
	if err != nil {
		return nil, err
	}
	defer k.end()
	url := p.Service.CloneURL(of.PubKey, of.D)
	title, self, page := k.v.Name, url+"/feed.atom", url
	if len(kinds) == 1 {
		title, self, page = k.v.Name+": issues", url+"/issues.atom", url+"/issues"
	}
	f := Feed{Title: bidi.Escape(title), ID: self, Updated: Stamp(0), Links: []Link{{"self", "application/atom+xml", self}, {"alternate", "text/html", page}}}
	if e, ok, err := k.view.At(of.String()); err == nil && ok {
		f.Updated = Stamp(e.CreatedAt)
	}
	most := mostRead
	call := p.people(k.view, k.b)
	filter := nostr.Filter{Kinds: kinds, Tags: []nostr.TagFilter{{Name: 'a', Values: addresses(of.D, k.set.Members)}}, Limit: &most}
	for row, err := range k.view.Metered(k.b.charge).Query(ctx, filter) {
		if err != nil {
			return nil, err
		}
		e, err := row.Event()
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
		summary, cut := words.Cut(e.Content, 1000)
		if cut {
			summary += "…"
		}
		f.Entries = append(f.Entries, Entry{
			Title: bidi.Escape(subjectOf(e)), ID: "nostr:" + note, Updated: Stamp(e.CreatedAt), Author: bidi.Escape(call.call(e.PubKey)),
			Links: []Link{{"alternate", "text/html", url + "/" + sections[e.Kind] + "/" + note}}, Category: []Category{{names[e.Kind]}}, Summary: bidi.Escape(summary),
		})
	}
	if len(f.Entries) > 0 {
		f.Updated = f.Entries[0].Updated
	}
	return f.Bytes()
}

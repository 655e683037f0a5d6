package repopage

import (
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/markdown"
)

// Bounds of what a page looks up.
const (
	mostPeople = 200 // people whose profiles a page reads
	mostLinked = 50  // events that texts name
)

// people finds the names of the people on one page. It is for one goroutine.
type people struct {
	view *store.View
	b    *bill
	base string
	seen map[nostr.PubKey]string
	refs int
}

func (p *Pages) people(s *store.View, b *bill) *people {
	return &people{view: s, b: b, base: p.Service.Base(), seen: map[nostr.PubKey]string{}}
}

// call returns the name in somebody's profile, with the beginning and the end of the key beside the name, as anybody may take any name.
func (p *people) call(pk nostr.PubKey) string {
	if s, ok := p.seen[pk]; ok {
		return s
	}
	npub := nip19.Npub(pk)
	called := npub[:12] + "…" + npub[len(npub)-4:]
	if len(p.seen) < mostPeople {
		_ = p.b.charge(stepsOfEvent)
		if e, ok, err := p.view.At("0:" + pk.String() + ":"); err == nil && ok {
			if name := nip34.ProfileName(e.Content); name != "" {
				called = name + " (" + called + ")"
			}
		}
		p.seen[pk] = called
	}
	return called
}

// page returns the path of somebody's page.
func (p *people) page(pk nostr.PubKey) string { return p.base + "/" + nip19.Npub(pk) }

// refer returns what a text shows for a name of NIP-19, and the URL that this leads to, or "".
func (p *people) refer(name string) (shown, url string) {
	shown = name[:min(len(name), 14)] + "…"
	if pk, err := nip19.ParseProfile(name); err == nil {
		return "@" + p.call(pk), ""
	}
	if id, err := nip19.ParseEvent(name); err == nil && p.refs < mostLinked {
		p.refs++
		_ = p.b.charge(stepsOfEvent)
		if e, ok, err := p.view.Get(id); err == nil && ok && (nip34.Is(e.Kind, nip34.Thread) || follows(e) != nostr.ID{}) {
			return shown, p.base + "/" + nip19.Note(id)
		}
	}
	return shown, ""
}

// options returns how to render the texts on the page of a thread: their headings go below level 2, and people lead to their pages.
func (p *people) options() markdown.Options {
	return markdown.Options{Heading: 2, Reference: func(name string) (shown, url string) {
		if shown, url = p.refer(name); url == "" {
			if pk, err := nip19.ParseProfile(name); err == nil {
				url = p.page(pk)
			}
		}
		return shown, url
	}}
}

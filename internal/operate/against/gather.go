package against

import (
	"context"
	"errors"
	"slices"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Asker calls do with each event of one relay that matches a filter, with some perhaps more than once.
type Asker func(ctx context.Context, f nostr.Filter, do func(*nostr.Event) error) error

// Bounds of what is gathered from one relay.
const (
	atOnce     = 50        // values of one filter
	mostTitle  = 80        // bytes of what an event is called
	mostEvents = 2_000_000 // in all
)

// errTooMany says that a relay has more than a comparison takes.
var errTooMany = errors.New("more than 2,000,000 events")

// Announcements returns the repositories that a relay announces and that ours chooses.
func Announcements(ctx context.Context, ask Asker, ours func(*nip34.Announcement) bool) (map[nip34.Address]bool, error) {
	out := map[nip34.Address]bool{}
	err := ask(ctx, nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository}}, func(e *nostr.Event) error {
		if a, err := nip34.ParseAnnouncement(e); err == nil && ours(a) {
			out[a.Address] = true
		}
		return nil
	})
	return out, err
}

// Events returns what a relay has of some repositories: their announcements and states, what names them, and what names a patch, a pull
// request or an issue of theirs.
func Events(ctx context.Context, ask Asker, repositories map[nip34.Address]bool) (map[nostr.ID]Event, error) {
	g := gathering{of: repositories, byD: map[string]nip34.Address{}, roots: map[nostr.ID]nip34.Address{}, out: map[nostr.ID]Event{}}
	var names, addresses []string
	for of := range repositories {
		if first, ok := g.byD[of.D]; !ok || of.Compare(first) < 0 {
			g.byD[of.D] = of
		}
		addresses = append(addresses, of.String())
	}
	for d := range g.byD {
		names = append(names, d)
	}
	slices.Sort(names)
	slices.Sort(addresses)
	if err := g.ask(ctx, ask, []nostr.Kind{nip34.KindRepository, nip34.KindState}, "d", names); err != nil {
		return nil, err
	}
	if err := g.ask(ctx, ask, nil, "aAq", addresses); err != nil {
		return nil, err
	}
	var ids []string
	for id := range g.roots {
		ids = append(ids, id.String())
	}
	slices.Sort(ids)
	return g.out, g.ask(ctx, ask, nil, "eEq", ids)
}

// gathering is what was found so far.
type gathering struct {
	of    map[nip34.Address]bool
	byD   map[string]nip34.Address // the first repository of each identifier
	roots map[nostr.ID]nip34.Address
	out   map[nostr.ID]Event
}

// ask asks for what has one of the values in one of the tags, each a letter.
func (g *gathering) ask(ctx context.Context, ask Asker, kinds []nostr.Kind, tags string, values []string) error {
	for some := range slices.Chunk(values, atOnce) {
		for i := range len(tags) {
			f := nostr.Filter{Kinds: kinds, Tags: []nostr.TagFilter{{Name: tags[i], Values: some}}}
			if err := ask(ctx, f, g.take); err != nil {
				return err
			}
		}
	}
	return nil
}

// take notes an event that belongs to one of the repositories.
func (g *gathering) take(e *nostr.Event) error {
	if _, known := g.out[e.ID]; known {
		return nil
	}
	of, ok := g.belongs(e)
	if !ok {
		return nil
	}
	if len(g.out) >= mostEvents {
		return errTooMany
	}
	g.out[e.ID] = Event{ID: e.ID, Kind: e.Kind, CreatedAt: e.CreatedAt, Address: e.Address(), By: e.PubKey, Title: safetext.Line(nip34.Title(e), mostTitle), Of: of}
	switch e.Kind {
	case nip34.KindPatch, nip34.KindPullRequest, nip34.KindIssue:
		g.roots[e.ID] = of
	}
	return nil
}

// belongs returns the repository to which an event belongs.
func (g *gathering) belongs(e *nostr.Event) (nip34.Address, bool) {
	if e.Kind == nip34.KindRepository || e.Kind == nip34.KindState {
		of := nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: e.Tags.D()}
		if g.of[of] {
			return of, true
		}
		first, ok := g.byD[of.D] // of a maintainer
		return first, ok
	}
	named := nip34.References(e)
	for _, of := range named.Addresses {
		if g.of[of] {
			return of, true
		}
	}
	for _, id := range named.IDs {
		if of, ok := g.roots[id]; ok {
			return of, true
		}
	}
	return nip34.Address{}, false
}

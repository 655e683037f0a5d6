package repopage

import (
	"cmp"
	"context"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the page of an issue, a patch or a pull request.
const (
	mostTalk     = 5000      // comments, statuses and updates: the newest so many of each filter in talk
	perPage      = 50        // comments, statuses and updates
	mostText     = 24 << 10  // bytes of one of these
	mostTexts    = 256 << 10 // bytes of all texts of a page
	stepsOfEvent = 34
	patchPerStep = 400 // bytes of a patch that are read in one step
)

// item has what the page of an issue, a patch or a pull request shows within its frame.
type item struct {
	Kind, Status, By, At string
	Part                 string // for a later patch: the URL of the page of the first one
	Text                 template.HTML
	Labels               []string
	Tip, Branch          string
	Clone                []string
	Revisions            []revision
	Talk                 []said
	Page, Pages          int
	More                 bool // there is more talk than Pages counts
}

// said is one comment, status or update, in order.
type said struct {
	ID, By, At string
	Did        string // what was done: "set this to closed"; "" for a comment
	State      string
	Text       template.HTML
}

func moment(t int64) string { return time.Unix(t, 0).UTC().Format("2006-01-02 15:04") }

// item returns a thread and one page of the talk about it.
func (p *Pages) item(ctx context.Context, k *known, e *nostr.Event, page int) (*item, error) {
	s, b := k.view.Metered(k.b.charge), k.b
	call := p.people(s, b)
	left := mostTexts
	text := func(src string, most int) template.HTML {
		if strings.TrimSpace(src) == "" {
			return ""
		}
		src, cut := safetext.Cut(src, min(most, left))
		left -= len(src)
		if cut {
			src += "\n\n… (the rest is left out here)"
		}
		return p.markdown(ctx, b, src, call.options())
	}
	i := &item{Kind: nip34.NameOf(e.Kind), By: call.call(e.PubKey), At: moment(e.CreatedAt)}
	for t := range e.Tags.All("t") {
		if l := safetext.Line(t.Value(), 40); l != "" && l != "root" && l != "root-revision" && l != "revision-root" && l != "cover-letter" && len(i.Labels) < 10 {
			i.Labels = append(i.Labels, l)
		}
	}
	if e.Kind == nip34.KindPatch {
		if root := patchRoot(e); root != (nostr.ID{}) {
			i.Part = p.Service.Base() + "/" + nip19.Note(root)
		}
		more, err := p.patches(ctx, s, e)
		if err != nil {
			return nil, err
		}
		for _, x := range append(more, e) {
			_ = b.charge(len(x.Content) / patchPerStep) // what follows sees an overdrawn bill
		}
		i.Revisions = revisions(e, more, call.call, nip19.Note)
		for _, r := range i.Revisions {
			for n := range r.Patches {
				r.Patches[n].Alone = p.Service.Base() + "/" + r.Patches[n].Note
			}
		}
	} else {
		i.Text = text(e.Content, 100<<10)
	}
	if tip, err := nip34.ParseTip(e); err == nil {
		i.tip(tip)
		branch, _ := e.Tags.First("branch-name")
		i.Branch = safetext.Line(branch, mostName)
	}
	standing, err := statusOf(ctx, s, e, k.set)
	if err != nil {
		return nil, err
	}
	i.Status = statusName(e.Kind, standing)
	return i, p.talk(ctx, s, i, e, k.set, page, call, text, b)
}

func (i *item) tip(t *nip34.Tip) {
	i.Tip = safetext.Line(t.Commit, 64)
	for _, c := range t.Clone[:min(len(t.Clone), 3)] {
		i.Clone = append(i.Clone, safetext.Line(c, mostName))
	}
}

// patchRoot returns the event that a patch marks as its root, else the first event that it names; zero where it names none.
func patchRoot(e *nostr.Event) nostr.ID {
	first := nostr.ID{}
	for t := range e.Tags.All("e") {
		id, err := nostr.ParseID(t.Value())
		if err != nil {
			continue
		}
		if len(t) > 3 && t[3] == "root" {
			return id
		}
		if first == (nostr.ID{}) {
			first = id
		}
	}
	return first
}

// patches returns the newest patches that name a patch, at most mostPatches.
func (p *Pages) patches(ctx context.Context, s *store.View, root *nostr.Event) (out []*nostr.Event, err error) {
	most := mostPatches
	f := nostr.Filter{Kinds: []nostr.Kind{nip34.KindPatch}, Tags: []nostr.TagFilter{{Name: 'e', Values: []string{root.ID.String()}}}, Limit: &most}
	for e, err := range s.Events(ctx, f) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// talk adds to i one page of what people said and did about an event, the oldest first. It fails with errNothing where there is no such page.
func (p *Pages) talk(ctx context.Context, s *store.View, i *item, root *nostr.Event, set *grasp.Set, page int, call *people, text func(string, int) template.HTML, b *bill) error {
	id, most := root.ID.String(), mostTalk
	deciders := append([]nostr.PubKey{root.PubKey}, set.Members[:min(len(set.Members), mostMembers)]...)
	named := func(name byte) []nostr.TagFilter { return []nostr.TagFilter{{Name: name, Values: []string{id}}} }
	var all []store.Pair
	for _, f := range []nostr.Filter{
		{Kinds: []nostr.Kind{nostr.KindComment}, Tags: named('E')},
		{Kinds: []nostr.Kind{nostr.KindNote, nip34.KindReplyOld}, Tags: named('e')},
		{Kinds: []nostr.Kind{nip34.KindPullRequestUpdate}, Tags: named('E'), Authors: deciders},
		{Kinds: nip34.Kinds(nip34.Standing), Tags: named('e'), Authors: deciders},
	} {
		f.Limit = &most
		n := 0
		for pair, err := range s.Pairs(ctx, f, false) {
			if err != nil {
				return err
			}
			all = append(all, pair)
			n++
		}
		i.More = i.More || n == most
	}
	slices.SortFunc(all, func(a, b store.Pair) int { return cmp.Or(cmp.Compare(a.Time, b.Time), a.ID.Compare(b.ID)) })
	all = slices.Compact(all)
	i.Pages = max(1, (len(all)+perPage-1)/perPage)
	if i.Page = page; page > i.Pages {
		return errNothing
	}
	from := (page - 1) * perPage
	for _, pair := range all[from:min(len(all), from+perPage)] {
		if err := b.charge(stepsOfEvent); err != nil {
			return err
		}
		e, ok, err := s.Get(pair.ID)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		one := said{ID: nip19.Note(e.ID), By: call.call(e.PubKey), At: moment(e.CreatedAt)}
		switch {
		case e.Kind == nip34.KindPullRequestUpdate:
			tip, _ := e.Tags.First("c")
			one.Did = "updated this to " + safetext.Line(tip, 12)
		case nip34.Is(e.Kind, nip34.Standing):
			if !about(e, root.ID) {
				continue
			}
			one.State = statusName(root.Kind, e.Kind)
			one.Did = "set this to " + one.State
		}
		one.Text = text(e.Content, mostText)
		i.Talk = append(i.Talk, one)
	}
	return nil
}

// follows returns the event that a comment, or an update of a pull request, is about; zero for anything else.
func follows(e *nostr.Event) nostr.ID {
	if e.Kind != nostr.KindComment && e.Kind != nip34.KindPullRequestUpdate {
		return nostr.ID{}
	}
	v, _ := e.Tags.First("E")
	id, err := nostr.ParseID(v)
	if err != nil {
		return nostr.ID{}
	}
	return id
}

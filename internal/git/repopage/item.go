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
	fullID       = 40  // digits of the shortest id that is whole
	patchPerStep = 100 // bytes of a patch that are read in one step
)

// item has what the page of an issue, a patch or a pull request shows within its frame.
type item struct {
	Kind, Status, By, At string
	Path, Who            string // of this page, and of the author's
	Part                 string // for a later patch: the URL of the page of the first one
	Text                 template.HTML
	Edited               *said         // who wrote the text that stands in place of the first one, and when; nil for the first one
	First                template.HTML // the first text, where it was edited
	FirstSubject         string        // the first subject, where it was changed
	Labels               []string
	Pull                 *pull // of a pull request
	Revisions            []revision
	Apply                apply // of patches
	Talk                 []said
	Page, Pages          int
	More                 bool // there is more talk than Pages counts
	Answer               reply
}

// reply says how to take part.
type reply struct{ Client, Ngit string }

// apply says how to apply patches: the path of the series as mail, and commands.
type apply struct{ Mail, Git, Ngit string }

// said is one comment, status or update, in order.
type said struct {
	ID, By, Who, At string
	Did             string // what was done: "set this to closed"; "" for a comment
	State           string
	Text            template.HTML
}

func moment(t int64) string { return time.Unix(t, 0).UTC().Format("2006-01-02 15:04") }

// item returns a thread and one page of the talk about it.
func (p *Pages) item(ctx context.Context, k *known, e *nostr.Event, is standing, commits *pull, page int) (*item, error) {
	s, b := k.view.Metered(k.b.charge), k.b
	call := p.people(s, b)
	left := mostTexts
	options := call.options()
	options.Place, options.Commit = k.path, func(id string) string {
		if len(id) < fullID {
			return b.short.url(id)
		}
		return k.path + "/commit/" + id
	}
	text := func(src string, most int) template.HTML {
		if strings.TrimSpace(src) == "" {
			return ""
		}
		src, cut := safetext.Cut(src, min(most, left))
		left -= len(src)
		if cut {
			src += "\n\n… (the rest is left out here)"
		}
		return p.markdown(ctx, b, src, options)
	}
	i := &item{
		Kind: nip34.NameOf(e.Kind), By: call.call(e.PubKey), Who: call.page(e.PubKey), At: moment(e.CreatedAt), Path: k.path + "/" + sectionOf(e.Kind) + "/" + nip19.Note(e.ID),
		Labels: is.Labels, Status: statusName(e.Kind, is.Status), Answer: p.reply(e), Pull: commits,
	}
	if first := subjectOf(e); first != is.Subject {
		i.FirstSubject = first
	}
	if e.Kind != nip34.KindPatch {
		i.Text = text(e.Content, 100<<10)
	}
	if is.Note != nil {
		i.First, i.Text = i.Text, text(is.Note.Content, 100<<10)
		i.Edited = &said{By: call.call(is.Note.PubKey), Who: call.page(is.Note.PubKey), At: moment(is.Note.CreatedAt)}
	}
	if e.Kind == nip34.KindPatch {
		if err := p.series(ctx, k, i, e, call); err != nil {
			return nil, err
		}
	}
	return i, i.talk(ctx, s, e, k.set, page, call, text, b)
}

// reply says how to take part in a thread.
func (p *Pages) reply(e *nostr.Event) reply {
	name, what := nip19.Nevent(e.ID, string(p.Service.RelayURL())), "pr"
	if e.Kind == nip34.KindIssue {
		what = "issue"
	}
	return reply{"https://gitworkshop.dev/" + name, "ngit " + what + " comment " + name + ` --body "…"`}
}

// series adds the patches of a thread.
func (p *Pages) series(ctx context.Context, k *known, i *item, e *nostr.Event, call *people) error {
	if root := patchRoot(e); root != (nostr.ID{}) {
		i.Part = p.Service.Base() + "/" + nip19.Note(root)
	}
	more, err := patchesOf(ctx, k.view.Metered(k.b.charge), e)
	if err != nil {
		return err
	}
	for _, x := range append(more, e) {
		_ = call.b.charge(len(x.Content) / patchPerStep) // what follows sees an overdrawn bill
	}
	i.Revisions = revisions(e, more, call.call, nip19.Note)
	for _, r := range i.Revisions {
		for n, x := range r.Patches {
			if x.Note != nip19.Note(e.ID) {
				r.Patches[n].Mail = k.path + "/patches/" + x.Note + ".patch"
			}
		}
	}
	i.Apply = apply{
		Mail: i.Path + ".patch", Git: "curl -fsS " + p.Service.CloneURL(k.of.PubKey, k.of.D) + "/patches/" + nip19.Note(e.ID) + ".patch | git am -3",
		Ngit: "ngit pr apply " + nip19.Nevent(e.ID, string(p.Service.RelayURL())),
	}
	return nil
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

// patchesOf returns the newest patches that name a patch, at most mostPatches.
func patchesOf(ctx context.Context, s *store.View, root *nostr.Event) ([]*nostr.Event, error) {
	return naming(ctx, s, 'e', root, mostPatches, nostr.Filter{Kinds: []nostr.Kind{nip34.KindPatch}})
}

// naming returns the newest events of a filter that name a thread in a tag, at most so many.
func naming(ctx context.Context, s *store.View, tag byte, root *nostr.Event, most int, f nostr.Filter) (out []*nostr.Event, err error) {
	f.Tags, f.Limit = []nostr.TagFilter{{Name: tag, Values: []string{root.ID.String()}}}, &most
	for e, err := range s.Events(ctx, f) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// talk adds to i one page of what people said and did about an event, the oldest first. It fails with errNothing where there is no such page.
func (i *item) talk(ctx context.Context, s *store.View, root *nostr.Event, set *grasp.Set, page int, call *people, text func(string, int) template.HTML, b *bill) error {
	id, most := root.ID.String(), mostTalk
	deciders := append([]nostr.PubKey{root.PubKey}, members(set)...)
	named := func(name byte) []nostr.TagFilter { return []nostr.TagFilter{{Name: name, Values: []string{id}}} }
	var all []store.Pair
	for _, f := range []nostr.Filter{
		{Kinds: []nostr.Kind{nostr.KindComment}, Tags: named('E')},
		{Kinds: []nostr.Kind{nostr.KindNote, nip34.KindReplyOld}, Tags: named('e')},
		{Kinds: []nostr.Kind{nip34.KindPullRequestUpdate}, Tags: named('E'), Authors: deciders},
		{Kinds: changing, Tags: named('e'), Authors: deciders},
	} {
		f.Limit = &most
		before := len(all)
		for pair, err := range s.Pairs(ctx, f, false) {
			if err != nil {
				return err
			}
			all = append(all, pair)
		}
		i.More = i.More || len(all)-before == most
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
		one := said{ID: nip19.Note(e.ID), By: call.call(e.PubKey), Who: call.page(e.PubKey), At: moment(e.CreatedAt)}
		switch {
		case e.Kind == nip34.KindPullRequestUpdate && e.PubKey != root.PubKey:
			one.Did = "offers " + tipIn(e) + " in place of the author's commits"
		case e.Kind == nip34.KindPullRequestUpdate:
			one.Did = "updated this to " + tipIn(e)
		case nip34.Is(e.Kind, nip34.Standing):
			one.State = statusName(root.Kind, e.Kind)
			one.Did = "set this to " + one.State
		case e.Kind == nip34.KindCoverNote:
			one.Did = "edited the text"
		case e.Kind == nostr.KindLabel:
			one.Did = relabelled(e)
		}
		if slices.Contains(changing, e.Kind) && (!about(e, root.ID) || one.Did == "") {
			continue
		}
		if e.Kind == nip34.KindCoverNote { // the newest stands above
			i.Talk = append(i.Talk, one)
			continue
		}
		one.Text = text(e.Content, mostText)
		i.Talk = append(i.Talk, one)
	}
	return nil
}

// tipIn returns the beginning of the commit that an update names.
func tipIn(update *nostr.Event) string {
	tip, _ := update.Tags.First("c")
	return safetext.Line(tip, 12)
}

// relabelled says what an event of kind 1985 does to a thread; "" for nothing.
func relabelled(e *nostr.Event) string {
	var did []string
	for _, subject := range labelsIn(e, subjects) {
		did = append(did, "changed the subject to “"+safetext.Line(subject, mostSubject)+"”")
		break
	}
	var all []string
	for _, l := range labelsIn(e, topics) {
		all = append(all, safetext.Line(l, mostLabel))
	}
	if len(all) > 0 {
		did = append(did, "added the "+map[bool]string{true: "label ", false: "labels "}[len(all) == 1]+strings.Join(all, ", "))
	}
	return strings.Join(did, " and ")
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

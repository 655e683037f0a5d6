package repopage

import (
	"cmp"
	"context"
	"slices"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of what people make of a thread.
const (
	mostChanges = 50 // events that change a thread: the newest of those who decide, and as many of its author
	mostLabels  = 20
	mostLabel   = 40 // bytes of a label
)

// The namespaces of labels (NIP-32) that change a thread, as ngit publishes them.
const (
	subjects = "#subject"
	topics   = "#t"
)

// changing are the kinds of events by which people change a thread.
var changing = append(nip34.Kinds(nip34.Standing), nip34.KindCoverNote, nostr.KindLabel)

// standing is what a thread is by the word of its author and of those who decide for the repository.
type standing struct {
	Status  nostr.Kind
	Subject string
	Labels  []string
	Note    *nostr.Event // the cover note, which clients show in place of the text; nil without one
	Changed int64        // when the last of these changed, in Unix seconds; when it began where nothing has
}

// standingOf reads what a thread is. Nobody else's words count, and the author's do not push out those of who decides.
func standingOf(ctx context.Context, s *store.View, root *nostr.Event, set *grasp.Set) (standing, error) {
	who := [][]nostr.PubKey{members(set)}
	if !slices.Contains(members(set), root.PubKey) {
		who = append(who, []nostr.PubKey{root.PubKey})
	}
	var all []*nostr.Event
	for _, authors := range who {
		some, err := naming(ctx, s, 'e', root, mostChanges, nostr.Filter{Kinds: changing, Authors: authors})
		if err != nil {
			return standing{}, err
		}
		all = append(all, some...)
	}
	return stand(root, all), nil
}

// members returns the first mostMembers of those who decide.
func members(set *grasp.Set) []nostr.PubKey { return set.Members[:min(len(set.Members), mostMembers)] }

// stand says what a thread is after changes by those who may change it, in any order. Of statuses, subjects and cover notes the newest wins,
// and of events of one second the one with the lowest id (NIP-01). Labels add up.
func stand(root *nostr.Event, changes []*nostr.Event) standing {
	x := standing{Status: nip34.KindStatusOpen, Subject: subjectOf(root), Changed: root.CreatedAt}
	for t := range root.Tags.All("t") {
		x.label(t.Value())
	}
	slices.SortFunc(changes, func(a, b *nostr.Event) int { // the word that counts comes last
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), b.ID.Compare(a.ID))
	})
	for _, e := range changes {
		if !about(e, root.ID) {
			continue
		}
		x.Changed = max(x.Changed, e.CreatedAt)
		switch {
		case e.Kind == nip34.KindCoverNote:
			x.Note = e
		case e.Kind == nostr.KindLabel:
			for _, l := range labelsIn(e, topics) {
				x.label(l)
			}
			for _, subject := range labelsIn(e, subjects) {
				x.Subject = safetext.Line(subject, mostSubject)
				break
			}
		default:
			x.Status = e.Kind
		}
	}
	return x
}

// label adds a label, unless it is one by which clients mark patches.
func (x *standing) label(l string) {
	switch l = safetext.Line(l, mostLabel); l {
	case "", "root", "root-revision", "revision-root", "cover-letter":
		return
	}
	if len(x.Labels) < mostLabels && !slices.Contains(x.Labels, l) {
		x.Labels = append(x.Labels, l)
	}
}

// labelsIn returns the labels of a namespace that an event of kind 1985 gives, none where the event does not name the namespace.
func labelsIn(e *nostr.Event, namespace string) (all []string) {
	if !slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool { return t.Name() == "L" && t.Value() == namespace }) {
		return nil
	}
	for t := range e.Tags.All("l") {
		if len(t) > 2 && t[2] == namespace && safetext.Line(t[1], mostLabel) != "" && len(all) < mostLabels {
			all = append(all, t[1])
		}
	}
	return all
}

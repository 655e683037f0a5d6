package corpus

import (
	"slices"
	"strconv"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// maxDepth is how deep comments nest.
const maxDepth = 3

// discussion makes n events about a thread.
func (w *writer) discussion(t *thread, n int) {
	for n > 0 && !w.stopped {
		n -= w.remark(t, n)
	}
}

// remark makes one event about a thread, or two that belong together if left allows, and returns how many it made.
func (w *writer) remark(t *thread, left int) int {
	p := w.r.IntN(100)
	switch {
	case p < 52:
		w.comment(t, Served)
	case p < 67:
		w.status(t)
	case p < 80:
		w.reaction(t)
	case p < 86:
		w.label(t)
	case p < 92:
		w.reply(t)
	case p < 94:
		w.quote(t.first, t.also)
	case p < 95:
		w.comment(t, Expired)
	case p < 97 && t.what == PullRequest:
		w.update(t, w.after(t.last().CreatedAt), nil, w.other)
	case p < 97 && t.what == Patch:
		w.coverNote(t)
	case p < 99 && left > 1:
		if e, author := w.comment(t, Deleted); e != nil {
			w.delete(author, e, t.also)
			return 2
		}
		w.status(t)
	default:
		w.comment(t, Served)
	}
	return 1
}

// comment makes a NIP-22 comment on the thread or on a comment in it. Nobody answers a comment that does not stay. A comment that is to be
// deleted needs an author with a held event, as relays take deletions only of such authors; with another author comment makes none.
func (w *writer) comment(t *thread, fate Fate) (*nostr.Event, *person) {
	parent := message{event: t.first}
	if len(t.more) > 0 && !oneIn(w.r, 3) {
		parent = t.more[w.r.IntN(len(t.more))]
	}
	if parent.depth >= maxDepth {
		parent = message{event: t.first}
	}
	author := w.somebody()
	if fate == Deleted && w.alive[author.pk] == 0 {
		return nil, nil
	}
	at := w.after(parent.event.CreatedAt)
	root := t.first
	tags := nostr.Tags{
		{"E", root.ID.String(), w.hint(), root.PubKey.String()}, {"K", kindText(root.Kind)}, {"P", root.PubKey.String()},
		{"e", parent.event.ID.String(), w.hint(), parent.event.PubKey.String()}, {"k", kindText(parent.event.Kind)}, {"p", parent.event.PubKey.String()},
	}
	switch {
	case fate == Expired:
		tags = append(tags, nostr.Tag{"expiration", strconv.FormatInt(min(at+1+w.r.Int64N(1000), w.g.o.Until-1), 10)})
	case oneIn(w.r, 100):
		tags = append(tags, nostr.Tag{"expiration", strconv.FormatInt(w.g.o.Until+365*24*3600, 10)})
	case oneIn(w.r, 40):
		tags = append(tags, nostr.Tag{"q", w.repo.address, w.hint()})
	}
	e := w.other(draft{what: Comment, fate: fate, by: author, at: at, kind: nostr.KindComment, tags: tags,
		content: prose(w.r, size(w.r, 30, 55, 160, 33, 500, 12, 1500)), also: t.also})
	if fate == Served {
		t.add(e, parent.depth+1)
	}
	return e, author
}

// delete makes the deletion of an event by its id.
func (w *writer) delete(author *person, e *nostr.Event, also int) {
	w.other(draft{what: Deletion, by: author, at: w.after(e.CreatedAt), kind: nostr.KindDeletion,
		tags: nostr.Tags{{"e", e.ID.String()}, {"k", kindText(e.Kind)}}, content: pick(w.r, []string{"", "posted twice", "wrong repository"}), also: also})
}

// status makes a status of one of the four kinds, by the author of the thread or a member.
func (w *writer) status(t *thread) {
	by := pick(w.r, w.members)
	if oneIn(w.r, 3) {
		by = t.author
	}
	kind := pick(w.r, []nostr.Kind{nip34.KindStatusOpen, nip34.KindStatusApplied, nip34.KindStatusApplied, nip34.KindStatusApplied,
		nip34.KindStatusClosed, nip34.KindStatusClosed, nip34.KindStatusDraft})
	tags := nostr.Tags{{"e", t.first.ID.String(), w.hint(), "root"}, {"p", w.repo.owner.hex}, {"p", t.author.hex}}
	if !oneIn(w.r, 3) {
		tags = append(tags, nostr.Tag{"a", w.repo.address, w.hint()}, nostr.Tag{"r", w.repo.euc})
	}
	if kind == nip34.KindStatusApplied && t.what != Issue {
		commit := hex(w.r, 40)
		tags = append(tags, nostr.Tag{"merge-commit", commit}, nostr.Tag{"r", commit}, nostr.Tag{"q", t.first.ID.String(), w.hint(), t.author.hex})
	}
	content := ""
	if oneIn(w.r, 3) {
		content = prose(w.r, 20+w.r.IntN(150))
	}
	w.other(draft{what: Status, by: by, at: w.after(t.first.CreatedAt), kind: kind, tags: tags, content: content, also: t.also})
}

// reaction makes a reaction to the thread or to a comment. Only the comment's id leads to the latter.
func (w *writer) reaction(t *thread) {
	to := t.first
	if oneIn(w.r, 2) {
		to = t.last()
	}
	w.other(draft{what: Reaction, by: w.somebody(), at: w.after(to.CreatedAt), kind: nostr.KindReaction, also: t.also,
		tags:    nostr.Tags{{"e", to.ID.String(), w.hint(), to.PubKey.String()}, {"p", to.PubKey.String()}, {"k", kindText(to.Kind)}},
		content: pick(w.r, []string{"+", "+", "-", "🚀", "👀", "❤️", ":shipit:"})})
}

func (w *writer) label(t *thread) {
	tags := nostr.Tags{{"L", "#t"}, {"l", pick(w.r, labels), "#t"}, {"e", t.first.ID.String(), w.hint()}, {"p", t.author.hex}}
	if oneIn(w.r, 2) {
		tags = append(tags, nostr.Tag{"a", w.repo.address})
	}
	w.other(draft{what: Label, by: pick(w.r, w.members), at: w.after(t.first.CreatedAt), kind: nostr.KindLabel, tags: tags, also: t.also})
}

// reply makes a comment as older clients write it.
func (w *writer) reply(t *thread) {
	kind, tags := nostr.KindNote, nostr.Tags{{"e", t.first.ID.String(), w.hint(), "root"}, {"p", t.author.hex}}
	if oneIn(w.r, 3) {
		kind, tags = nip34.KindReplyOld, append(tags, nostr.Tag{"a", w.repo.address, w.hint()})
	}
	w.other(draft{what: Reply, by: w.somebody(), at: w.after(t.first.CreatedAt), kind: kind, tags: tags,
		content: prose(w.r, size(w.r, 30, 60, 200, 40, 800)), also: t.also})
}

func (w *writer) coverNote(t *thread) {
	w.other(draft{what: CoverNote, by: t.author, at: w.after(t.first.CreatedAt), kind: nip34.KindCoverNote, also: t.also,
		tags:    nostr.Tags{{"a", w.repo.address, w.hint()}, {"e", t.first.ID.String(), w.hint()}, {"p", w.repo.owner.hex}},
		content: markdown(w.r, size(w.r, 200, 60, 800, 40, 2000))})
}

// quote makes a note that quotes an event.
func (w *writer) quote(e *nostr.Event, also int) {
	w.other(draft{what: Quote, by: w.somebody(), at: w.after(e.CreatedAt), kind: nostr.KindNote, also: also,
		tags: nostr.Tags{{"q", e.ID.String(), w.hint(), e.PubKey.String()}}, content: prose(w.r, size(w.r, 40, 70, 200, 30, 600))})
}

// general makes n events about the repository as a whole: stars, questions with answers, and notes that quote it.
func (w *writer) general(announced *nostr.Event, n int) {
	repo, owner := w.repo.address, w.repo.owner.hex
	root := nostr.Tags{{"A", repo, w.hint()}, {"K", "30617"}, {"P", owner}}
	var question *nostr.Event // the newest one
	for ; n > 0 && !w.stopped; n-- {
		d := draft{what: Comment, kind: nostr.KindComment, by: w.somebody(), at: w.after(announced.CreatedAt), content: prose(w.r, size(w.r, 30, 70, 300, 30, 1000))}
		switch p := w.r.IntN(10); {
		case p < 4:
			d.what, d.kind, d.content = Reaction, nostr.KindReaction, "⭐"
			d.tags = nostr.Tags{{"a", repo, w.hint()}, {"e", announced.ID.String(), w.hint()}, {"p", owner}, {"k", "30617"}}
			w.other(d)
		case p < 6 && question != nil:
			d.at = w.after(question.CreatedAt)
			d.tags = append(slices.Clone(root), nostr.Tag{"e", question.ID.String(), w.hint(), question.PubKey.String()}, nostr.Tag{"k", "1111"}, nostr.Tag{"p", question.PubKey.String()})
			w.other(d)
		case p < 7:
			d.tags = append(slices.Clone(root), nostr.Tag{"a", repo, w.hint()}, nostr.Tag{"k", "30617"}, nostr.Tag{"p", owner})
			question = w.other(d)
		default:
			d.what, d.kind = Quote, nostr.KindNote
			d.tags = nostr.Tags{{"q", repo, w.hint(), owner}}
			w.other(d)
		}
	}
}

func kindText(k nostr.Kind) string { return strconv.Itoa(int(k)) }

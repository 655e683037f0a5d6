package corpus

import (
	"fmt"
	"strconv"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// thread is one or several root events that belong together, and the events about them that others can answer.
type thread struct {
	first  *nostr.Event // an issue, a pull request, or the first patch of a series
	author *person
	what   What
	also   int       // number of another repository that it is about; 0: none
	more   []message // its roots and the comments on them
}

// message is an event that others can name.
type message struct {
	event *nostr.Event
	depth int // how deep a comment nests; 0 for a root
}

// threads makes all roots, and the events about them and about the repository as a whole.
func (w *writer) threads(announced *nostr.Event) {
	n := w.g.roots[w.number]
	budget := make([]int, max(n, 1))
	general := w.others / 15
	if n == 0 {
		general = w.others
	}
	for range w.others - general {
		budget[skewed(w.r, n)]++
	}
	w.general(announced, general)
	carried := 0
	for done := 0; done < n && !w.stopped; {
		also := w.neighbour()
		kind, length := w.shape(n - done)
		others := carried
		for i := range length {
			others += budget[done+i]
		}
		carried = w.thread(kind, length, others, also)
		done += length
	}
	w.general(announced, carried)
}

// shape draws the kind of the next thread, and how many roots it has.
func (w *writer) shape(left int) (What, int) {
	switch p := w.r.IntN(100); {
	case p < 58:
		return Issue, 1
	case p < 85:
		return Patch, min(1+skewed(w.r, 5), left)
	default:
		return PullRequest, min(1+skewed(w.r, 4), left)
	}
}

// neighbour draws another repository that a thread names too; 0, for none, most often.
func (w *writer) neighbour() int {
	if w.repo.Deleted || w.g.o.Repositories < 2 || !oneIn(w.r, 50) {
		return 0
	}
	i := skewed(w.r, w.g.o.Repositories)
	if i == w.number || w.g.repository(i).Deleted {
		return 0
	}
	return i
}

// thread makes a thread of length roots and so many other events, and returns how many of the others it could not use.
func (w *writer) thread(kind What, length, others, also int) int {
	t := &thread{what: kind, author: w.somebody(), also: also}
	at := w.repo.created + 1 + w.r.Int64N(w.g.o.Until-w.repo.created)
	if kind == Issue && others > 0 && w.alive[t.author.pk] > 0 && oneIn(w.r, 40) {
		e := w.root(draft{what: Issue, fate: Deleted, by: t.author, at: at, kind: nip34.KindIssue, tags: w.issueTags(t), content: prose(w.r, 300), also: also})
		w.delete(t.author, e, also)
		return others - 1
	}
	switch kind {
	case Patch:
		w.series(t, at, length)
	case PullRequest:
		w.pullRequest(t, at, length)
	default:
		t.first = w.root(draft{what: Issue, by: t.author, at: at, kind: nip34.KindIssue, tags: w.issueTags(t),
			content: markdown(w.r, size(w.r, 300, 50, 700, 35, 1500, 15, 4000)), also: also})
	}
	w.discussion(t, others)
	return 0
}

// names returns the tags by which a root names its repositories.
func (w *writer) names(t *thread) nostr.Tags {
	tags := append(nostr.Tags{}, w.a...)
	if t.also > 0 {
		tags = append(tags, nostr.Tag{"a", w.g.repository(t.also).address})
	}
	return tags
}

func (w *writer) issueTags(t *thread) nostr.Tags {
	tags := append(w.names(t), nostr.Tag{"p", w.repo.owner.hex}, nostr.Tag{"subject", sentence(w.r, 20+w.r.IntN(60))})
	for range w.r.IntN(3) {
		tags = append(tags, nostr.Tag{"t", pick(w.r, labels)})
	}
	return tags
}

// series makes patches that follow each other. Each names the first and the one before it; sometimes the last begins a revision and names
// only the first.
func (w *writer) series(t *thread, at int64, length int) {
	parent := hex(w.r, 40)
	for i := range length {
		commit, subject := hex(w.r, 40), sentence(w.r, 20+w.r.IntN(40))
		tags := append(w.names(t), nostr.Tag{"r", w.repo.euc}, nostr.Tag{"p", w.repo.owner.hex})
		switch {
		case i == 0:
			tags = append(tags, nostr.Tag{"t", "root"})
		case i == length-1 && oneIn(w.r, 3):
			tags = append(tags, nostr.Tag{"t", "root-revision"}, nostr.Tag{"e", t.first.ID.String(), w.hint(), "reply"})
		default:
			tags = append(tags, nostr.Tag{"e", t.first.ID.String(), w.hint(), "root"}, nostr.Tag{"e", t.last().ID.String(), w.hint(), "reply"})
		}
		tags = append(tags, nostr.Tag{"commit", commit}, nostr.Tag{"r", commit}, nostr.Tag{"parent-commit", parent}, nostr.Tag{"commit-pgp-sig", ""},
			nostr.Tag{"committer", t.author.name, t.author.mail, strconv.FormatInt(at, 10), "60"},
			nostr.Tag{"description", subject}, nostr.Tag{"alt", "git patch: " + subject})
		n := size(w.r, 1000, 60, 2000, 27, 4000, 9, 8000, 3, 16000, 1, 40000)
		t.add(w.root(draft{what: Patch, by: t.author, at: at, kind: nip34.KindPatch, tags: tags,
			content: formatPatch(w.r, t.author, commit, subject, at, i+1, length, n), also: t.also}), 0)
		parent, at = commit, at+1
	}
}

// pullRequest makes a pull request and updates of it.
func (w *writer) pullRequest(t *thread, at int64, length int) {
	branch := pick(w.r, verbs) + "-" + pick(w.r, nouns)
	for i := range length {
		tags := append(w.names(t), nostr.Tag{"r", w.repo.euc}, nostr.Tag{"p", w.repo.owner.hex})
		if i > 0 {
			w.update(t, at, tags, w.root)
			at = w.after(at)
			continue
		}
		tags = append(append(tags, nostr.Tag{"subject", sentence(w.r, 20+w.r.IntN(50))}, nostr.Tag{"branch-name", branch}, nostr.Tag{"t", pick(w.r, labels)}), w.tip(t)...)
		t.add(w.root(draft{what: PullRequest, by: t.author, at: at, kind: nip34.KindPullRequest, tags: tags,
			content: markdown(w.r, size(w.r, 100, 50, 500, 35, 1500, 15, 4000)), also: t.also}), 0)
		at = w.after(at)
	}
}

// update makes an update of the thread's pull request, with a newer tip. Only the pull request leads from an update without an a tag to a
// repository.
func (w *writer) update(t *thread, at int64, tags nostr.Tags, emit func(draft) *nostr.Event) {
	tags = append(append(tags, nostr.Tag{"E", t.first.ID.String(), w.hint()}, nostr.Tag{"P", t.author.hex}), w.tip(t)...)
	t.add(emit(draft{what: PullRequestUpdate, by: t.author, at: at, kind: nip34.KindPullRequestUpdate, tags: tags, also: t.also}), 0)
}

// tip makes the tags that name the commits of a pull request and where to fetch them.
func (w *writer) tip(t *thread) nostr.Tags {
	return nostr.Tags{{"c", hex(w.r, 40)}, {"merge-base", hex(w.r, 40)},
		{"clone", fmt.Sprintf("https://git.%s.example/%s/%s.git", pick(w.r, nouns), t.author.npub(), pick(w.r, nouns))}}
}

func (t *thread) add(e *nostr.Event, depth int) {
	if t.first == nil {
		t.first = e
		return
	}
	t.more = append(t.more, message{e, depth})
}

// last returns the newest event of the thread that others can answer.
func (t *thread) last() *nostr.Event {
	if len(t.more) == 0 {
		return t.first
	}
	return t.more[len(t.more)-1].event
}

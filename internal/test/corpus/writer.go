package corpus

import (
	"math/rand/v2"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// writer makes the events of one repository, one after the other.
type writer struct {
	g       *generator
	r       *rand.Rand
	yield   func(Item) bool
	stopped bool // yield wants no more
	number  int
	repo    *repository
	others  int // other events that are still to be made

	members []*person            // who decide for the repository, the owner first
	a       []nostr.Tag          // how a root names the repository: by the address of each member
	alive   map[nostr.PubKey]int // held events of each author
}

func (g *generator) writer(i int, yield func(Item) bool) *writer {
	repo := g.repository(i)
	return &writer{
		g: g, r: g.rng("events", i), yield: yield, number: i, repo: repo, others: g.others[i],
		members: []*person{repo.owner}, a: []nostr.Tag{{"a", repo.address}}, alive: map[nostr.PubKey]int{},
	}
}

// draft is an event that is not signed yet, and the truth about it.
type draft struct {
	what    What
	fate    Fate
	by      *person
	at      int64 // root keeps it within the bounds of the corpus
	kind    nostr.Kind
	tags    nostr.Tags
	content string
	also    int // number of another repository that it is about; 0: none
}

// root signs and yields a draft that counts as a repository or a root.
func (w *writer) root(d draft) *nostr.Event {
	if w.repo.Deleted && d.what != Announcement {
		d.fate = Loose
	}
	e := &nostr.Event{CreatedAt: min(max(d.at, w.g.o.Since), w.g.o.Until), Kind: d.kind, Tags: d.tags, Content: d.content}
	w.g.o.Sign(d.by.key, d.by.pk, e)
	if d.fate == Served {
		w.alive[d.by.pk]++
	}
	repositories := []int{w.number}
	if d.also > 0 {
		repositories = append(repositories, d.also)
	}
	if !w.stopped && !w.yield(Item{Event: e, What: d.what, Fate: d.fate, Repositories: repositories}) {
		w.stopped = true
	}
	return e
}

// other signs and yields a draft that counts as one of the others.
func (w *writer) other(d draft) *nostr.Event {
	w.others--
	return w.root(d)
}

// repository makes everything about the repository, and reports whether yield wants more.
func (w *writer) repository() bool {
	if w.repo.Deleted {
		w.others-- // keeps one for the deletion, which comes last
	}
	listed := w.listMaintainers()
	announced := w.announce(listed)
	w.maintainers(listed)
	w.states()
	w.threads(announced)
	if w.repo.Deleted {
		w.others++
		w.other(draft{what: Deletion, by: w.repo.owner, at: w.g.o.Until, kind: nostr.KindDeletion,
			tags: nostr.Tags{{"a", w.repo.address}, {"k", "30617"}}, content: "moved elsewhere"})
	}
	return !w.stopped
}

// after draws a time after t: most often soon, sometimes weeks later, never after Until.
func (w *writer) after(t int64) int64 {
	scale := int64(1) << w.r.IntN(22)
	return min(t+scale+w.r.Int64N(scale), w.g.o.Until)
}

// somebody draws a member now and then, and most often one of many others.
func (w *writer) somebody() *person {
	if oneIn(w.r, 4) {
		return pick(w.r, w.members)
	}
	return w.g.contributor(skewed(w.r, w.g.contributors()))
}

// hint draws a relay of the repository, to stand beside ids and addresses.
func (w *writer) hint() string {
	if len(w.repo.Relays) == 0 {
		return ""
	}
	return pick(w.r, w.repo.Relays)
}

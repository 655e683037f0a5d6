// Package want knows what graspd wants of every other relay, and nothing of how to ask for it. The package has the fold of accepted
// announcements and root events (Desired), and with that who maintains which repository. The package hands out one immutable Want per
// relay. From two Wants a peer learns what changed, at a cost that follows the change. Read desired.go first, then want.go.
package want

import (
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
)

// URL is a normalised relay URL, the identity of a remote relay.
type URL = grasp.RelayURL

// Item is the number of one thing about which graspd can ask a relay: the announcements of layer 1, a repository at one revision, or a root
// event. A number stands for the same thing at all relays, and one Desired never gives it twice.
type Item uint32

// Announcements is the item of layer 1. graspd wants it from every relay.
const Announcements Item = 0

// Layer orders items. The catch-up of a lower layer comes first, because its events decide which events of the next layer graspd accepts.
type Layer uint8

// The layers of stored events.
const (
	LayerAnnouncements Layer = iota + 1
	LayerRepositories
	LayerRoots
	// LayerReferences is for the full resync only, and never confirmed: events that name events other than root events, events that these
	// name, and deletions by authors.
	LayerReferences
)

// Want is all that graspd wants to fetch from one relay and to follow there. A Want is immutable, and shares with its predecessor what did
// not change.
type Want struct {
	Bootstrap bool             // the operator names the relay: graspd wants announcements of it though no repository names it
	Owners    int              // distinct owners whose repositories name the relay
	Repos     []*RepoWant      // by Ord
	Claims    int              // how many of Repos are announced and wait for git data, so that they are not complete here, whatever the relay answers
	Mailbox   *mailbox.Mailbox // what graspd asks the relay on behalf of participants; nil = nothing
	names     *names

	edition *edition
	from    *edition // of the Want with which moved compares; nil = none
	moved   []int    // indexes of Repos, ascending, where that Want has another RepoWant; the rest of Repos is the same
}

// edition identifies a Want by a pointer that keeps nothing of it in memory.
type edition struct{ _ byte }

// RepoWant is what graspd wants of one repository.
type RepoWant struct {
	Item   Item
	Owner  nostr.PubKey
	chunks []*chunk
	Ord    uint32 // stable per repository; Repos are in its order
}

// Roots returns the number of root events of the repository.
func (r *RepoWant) Roots() int {
	n := 0
	for _, c := range r.chunks {
		n += len(*c)
	}
	return n
}

// EachRoot calls f for the root events of the repository.
func (r *RepoWant) EachRoot(f func(Item)) {
	for _, c := range r.chunks {
		for _, it := range *c {
			f(it)
		}
	}
}

// Empty reports whether w wants no repository: at most the announcements and a mailbox. A nil Want is empty.
func (w *Want) Empty() bool { return w == nil || len(w.Repos) == 0 }

// WithMailbox returns a copy of w with another mailbox.
func (w *Want) WithMailbox(m *mailbox.Mailbox) *Want {
	v := *w
	v.Mailbox = m
	return &v
}

var nothing = &Want{names: newNames()}

// Nothing returns the Want of a relay that no repository names, for WithMailbox.
func Nothing() *Want { return nothing }

// Needed reports whether graspd wants to connect to the relay at all.
func (w *Want) Needed() bool { return !w.Empty() || w != nil && (w.Bootstrap || w.Mailbox != nil) }

// OnlyMailbox reports whether w wants a mailbox alone, without announcements.
func (w *Want) OnlyMailbox() bool { return w.Empty() && w != nil && !w.Bootstrap && w.Mailbox != nil }

// Party returns the owner who alone names the relay; "" where several do, or the operator.
func (w *Want) Party() string {
	if w.Empty() || w.Bootstrap || w.Owners != 1 {
		return ""
	}
	return w.Repos[0].Owner.String()
}

// Moves reports whether the repositories or their root events differ from those of the Want before; true where nobody can tell.
func (w *Want) Moves() bool { return w.from == nil || len(w.moved) > 0 }

// Repository returns what a repository item stands for; nil for any other item.
func (w *Want) Repository(it Item) *Repository { return w.names.repo(it) }

// Root returns the id of a root event that w wants. Root may panic for any other item.
func (w *Want) Root(it Item) nostr.ID { return w.names.root(it).id }

// Numbers returns how many numbers items have got so far, those of items that are gone included.
func (w *Want) Numbers() int { return int(w.names.n) }

// Layer returns the layer of an item.
func (w *Want) Layer(it Item) Layer {
	switch {
	case it == Announcements:
		return LayerAnnouncements
	case w.Repository(it) != nil:
		return LayerRepositories
	}
	return LayerRoots
}

// Each calls f for every item of w: Announcements first, unless w is only a mailbox. Each calls f for an item of several repositories once
// for each.
func (w *Want) Each(f func(Item)) {
	if !w.OnlyMailbox() {
		f(Announcements)
	}
	walk(nil, w.Repos, f)
}

// SameRepositories reports whether w is the Want right after old and about the same repositories, of which some may have other items. It says no
// where nobody can tell at once.
func (w *Want) SameRepositories(old *Want) bool {
	return old != nil && w.from != nil && w.from == old.edition
}

// Diff calls add for every item of b that a lacks, and then sub for every item of a that b lacks. Diff looks only at the lists that a and b
// do not share, so it may report an item that both have, to add and to sub. An item of several repositories it reports once for each.
func Diff(a, b *Want, add, sub func(Item)) {
	if b.SameRepositories(a) {
		for _, i := range b.moved {
			walkRepo(a.Repos[i], b.Repos[i], add)
		}
		for _, i := range b.moved {
			walkRepo(b.Repos[i], a.Repos[i], sub)
		}
		return
	}
	var have []*RepoWant
	if a != nil {
		have = a.Repos
	}
	walk(have, b.Repos, add)
	walk(b.Repos, have, sub)
}

// walk calls f for the items of b in repositories that a does not share, and in chunks from the first difference on.
func walk(a, b []*RepoWant, f func(Item)) {
	i := 0
	for _, r := range b {
		if i < len(a) && a[i] == r {
			i++
			continue
		}
		for i < len(a) && a[i].Ord < r.Ord {
			i++
		}
		switch {
		case i == len(a) || a[i].Ord != r.Ord:
			walkRepo(nil, r, f)
		case a[i] != r:
			walkRepo(a[i], r, f)
		}
	}
}

func walkRepo(old, r *RepoWant, f func(Item)) {
	if old == nil || old.Item != r.Item {
		f(r.Item)
	}
	for i, c := range r.chunks {
		same := 0
		if old != nil && i < len(old.chunks) {
			if old.chunks[i] == c {
				continue
			}
			same = c.shared(old.chunks[i])
		}
		for _, it := range (*c)[same:] {
			f(it)
		}
	}
}

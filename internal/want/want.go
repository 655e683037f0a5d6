// Package want knows what is wanted of every remote relay, and nothing of how it is asked for. It owns the fold of accepted
// announcements and root events (Desired), and with it who maintains which repository, and hands out one immutable Want per
// relay, from which a peer learns what changed at a cost that follows the change. Read desired.go first, then want.go.
package want

import (
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/mailbox"
	"github.com/graspd/graspd/internal/nostr"
)

// URL is a normalised relay URL, the identity of a remote relay.
type URL = grasp.RelayURL

// Item numbers one thing that can be asked of a relay: the announcements of
// layer 1, a repository at one revision, or a root event. A number names the
// same thing for all relays and is never given twice by one Desired.
type Item uint32

// Announcements is the item of layer 1. It is wanted from every relay.
const Announcements Item = 0

// Layer orders items: a lower layer is caught up first, because what it brings
// decides what the next one accepts.
type Layer uint8

// The layers of stored events.
const (
	LayerAnnouncements Layer = iota + 1
	LayerRepositories
	LayerRoots
	// LayerReferences is asked in the full resync only, and is no part of what is
	// confirmed: what names events that are no root events, what these name, and
	// deletions by authors.
	LayerReferences
)

// Want is all that is to be fetched and followed from one relay. It is immutable, and shares with its predecessor what did not change.
type Want struct {
	Bootstrap bool
	Owners    int // distinct owners whose repositories name the relay
	Repos     []*RepoWant
	Mailbox   *mailbox.Mailbox // what the relay is asked for on behalf of participants; nil = nothing
	names     *names

	edition *edition
	from    *edition // of the Want that moved is told against; nil = none
	moved   []int    // places in Repos, ascending, where that one has another RepoWant; all else is the same
}

// edition stands for one Want, and keeps nothing of it.
type edition struct{ _ byte }

// RepoWant is what a Want has of one repository.
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

// Empty says that nothing but the announcements is wanted.
func (w *Want) Empty() bool { return w == nil || len(w.Repos) == 0 }

// WithMailbox is w with another mailbox.
func (w *Want) WithMailbox(m *mailbox.Mailbox) *Want {
	v := *w
	v.Mailbox = m
	return &v
}

// nothing is the Want of a relay that nothing has ever named.
var nothing = &Want{names: newNames()}

// Nothing is the Want of a relay that no repository names, for WithMailbox.
func Nothing() *Want { return nothing }

// Needed says whether the relay is to be connected to at all.
func (w *Want) Needed() bool { return !w.Empty() || w != nil && (w.Bootstrap || w.Mailbox != nil) }

// OnlyMailbox says that the relay is wanted for mailboxes and nothing else: not even the announcements are.
func (w *Want) OnlyMailbox() bool { return w.Empty() && w != nil && !w.Bootstrap && w.Mailbox != nil }

// Party is the owner who alone names the relay; "" where several do, or the operator.
func (w *Want) Party() string {
	if w.Empty() || w.Bootstrap || w.Owners != 1 {
		return ""
	}
	return w.Repos[0].Owner.String()
}

// Moves says whether anything else is asked for than with the Want that was handed out before.
func (w *Want) Moves() bool { return w.from == nil || len(w.moved) > 0 }

// Repository returns what a repository item stands for; nil for any other item.
func (w *Want) Repository(it Item) *Repository { return w.names.repo(it) }

// Root returns the id of a root event that is wanted.
func (w *Want) Root(it Item) nostr.ID { return w.names.root(it).id }

// Numbers returns how many numbers have been given to items so far, of which some stand for nothing any more.
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

// Each calls f for every item of w, Announcements first, unless it is only a mailbox; an item of several
// repositories is given once per repository.
func (w *Want) Each(f func(Item)) {
	if !w.OnlyMailbox() {
		f(Announcements)
	}
	walk(nil, w.Repos, f)
}

// Diff calls add for every item of b that a lacks and then sub for every item
// of a that b lacks. It looks only at what the two do not share, so an item may
// be added and taken back; one of several repositories is reported once for each.
func Diff(a, b *Want, add, sub func(Item)) {
	if a != nil && b.from != nil && a.edition == b.from {
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

// walk calls f for the items of b in repositories, or in chunks from the first difference on, that a does not share.
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

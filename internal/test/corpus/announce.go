package corpus

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// standing says what somebody does whom an owner lists as maintainer.
type standing uint8

const (
	member  standing = iota // announces the repository too and lists the owner back
	invited                 // announces it, but does not list the owner
	silent                  // does not answer
)

type listedPerson struct {
	*person
	standing standing
}

// listMaintainers draws the people whom the owner lists.
func (w *writer) listMaintainers() []listedPerson {
	if w.repo.lone || w.repo.Deleted || oneIn(w.r, 2) {
		return nil
	}
	var out []listedPerson
	for range 1 + skewed(w.r, 4) {
		p := w.g.contributor(w.r.IntN(w.g.contributors()))
		if !slices.ContainsFunc(out, func(l listedPerson) bool { return l.person == p }) {
			out = append(out, listedPerson{p, []standing{member, member, member, invited, silent}[w.r.IntN(5)]})
		}
	}
	return out
}

// announce makes the owner's announcement, and with Options.Older sometimes older versions of it.
func (w *writer) announce(listed []listedPerson) *nostr.Event {
	var keys []string
	for _, l := range listed {
		keys = append(keys, l.hex)
	}
	at := w.repo.created
	if w.g.o.Older && !w.repo.Deleted && oneIn(w.r, 2) {
		for range min(1+skewed(w.r, 6), w.others) {
			relays := w.repo.Relays
			if len(relays) > 1 && oneIn(w.r, 3) {
				relays = relays[:len(relays)-1]
			}
			w.other(draft{what: Announcement, fate: Replaced, by: w.repo.owner, at: at, kind: nip34.KindRepository,
				tags: announcementTags(w.r, w.repo, w.repo.owner, relays, keys)})
			at += 1 + w.r.Int64N(1+(w.g.o.Until-at)/4)
		}
	}
	fate := Served
	if w.repo.Deleted {
		fate = Deleted
	}
	return w.root(draft{what: Announcement, fate: fate, by: w.repo.owner, at: at, kind: nip34.KindRepository,
		tags: announcementTags(w.r, w.repo, w.repo.owner, w.repo.Relays, keys)})
}

// maintainers makes the announcements of the listed people who answer.
func (w *writer) maintainers(listed []listedPerson) {
	for _, l := range listed {
		if l.standing == silent || w.others == 0 {
			continue
		}
		relays, back := w.repo.Relays, []string{w.repo.owner.hex}
		if l.standing == invited {
			relays, back = w.elsewhere(), nil
		}
		w.other(draft{what: Maintainer, by: l.person, at: w.after(w.repo.created), kind: nip34.KindRepository,
			tags: announcementTags(w.r, w.repo, l.person, relays, back)})
		if l.standing == member {
			w.members = append(w.members, l.person)
			own := nip34.Address{Kind: nip34.KindRepository, PubKey: l.pk, D: w.repo.Address.D}
			w.a = append(w.a, nostr.Tag{"a", own.String()})
		}
	}
}

// elsewhere returns a relay of the repository other than Options.Service, if there is one.
func (w *writer) elsewhere() []string {
	last := w.repo.Relays[max(len(w.repo.Relays)-1, 0):]
	if len(last) > 0 && last[0] == w.g.o.Service {
		return nil
	}
	return last
}

// states makes states of the repository by some of its members, with Options.Older sometimes older versions, and sometimes one that its
// author has deleted.
func (w *writer) states() {
	for i, p := range w.members {
		if w.others == 0 || i > 0 && !oneIn(w.r, 3) || oneIn(w.r, 10) {
			continue
		}
		at := w.after(w.repo.created)
		if w.g.o.Older && oneIn(w.r, 2) {
			for range min(1+skewed(w.r, 12), w.others-1) {
				w.state(p, at, Replaced)
				at += 1 + w.r.Int64N(1+(w.g.o.Until-at)/4)
			}
		}
		if oneIn(w.r, 20) && w.others >= 3 {
			at = w.deletedState(p, at)
			if oneIn(w.r, 2) {
				continue
			}
		}
		w.state(p, at, Served)
	}
}

func (w *writer) state(p *person, at int64, fate Fate) nip34.Address {
	d := w.repo.Address.D
	w.other(draft{what: State, fate: fate, by: p, at: at, kind: nip34.KindState, tags: stateTags(w.r, d)})
	return nip34.Address{Kind: nip34.KindState, PubKey: p.pk, D: d}
}

// deletedState makes a state and its deletion by address. It returns the time from which on the deletion leaves states alone.
func (w *writer) deletedState(p *person, at int64) int64 {
	at = min(at, w.g.o.Until-2)
	a := w.state(p, at, Deleted)
	w.other(draft{what: Deletion, by: p, at: at + 1, kind: nostr.KindDeletion,
		tags: nostr.Tags{{"a", a.String()}, {"k", "30618"}}, content: "pushed by mistake"})
	return at + 2
}

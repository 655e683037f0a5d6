package coverage

import (
	"maps"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// A comparison of everything tells which events a relay lacks, but not of which
// repositories they are. graspd reads these events to find out: they are few, or it
// would not compare everything at once.

// Compared takes the events that the relay lacks of everything that is here; known says whether that is known of all events.
// It reports whether the caller has to find out what those events name, for Attributed.
func (b *Book) Compared(w *want.Want, lacks []nostr.ID, known bool) (ask bool) {
	switch {
	case !known:
		b.keepLast()
		return false
	case len(lacks) == 0:
		b.lack(w, nil)
		return false
	}
	return true
}

// Ask notes the name of the question what the events name that the relay lacks. The question is open now.
func (b *Book) Ask(name string) { b.asking = name }

// Unanswered notes that the open question, if there is one, will get no answer. What was known before stays.
func (b *Book) Unanswered() {
	if b.asking != "" {
		b.keepLast()
	}
	b.asking = ""
}

// Drop forgets the open question.
func (b *Book) Drop() { b.asking = "" }

// Attributed answers the question of that name, if it is the open one. events has NamesOf each event that the relay lacks;
// failed says that these could not be read. An event counts once among the events of repositories and once among the events
// of root events, under the first of its names that is such, as in filters that are asked together.
func (b *Book) Attributed(name string, w *want.Want, wanted func(want.Item) bool, events [][]string, failed bool) {
	if b.asking == "" || name != b.asking {
		return
	}
	b.asking = ""
	if failed {
		b.keepLast()
		return
	}
	owners, lacks := belonging(w, want.LayerRoots, wanted), make(map[uint32]shares)
	for _, names := range events {
		for _, root := range []bool{false, true} {
			i := slices.IndexFunc(names, func(key string) bool { return isRootKey(key) == root && len(owners[key]) > 0 })
			if i < 0 {
				continue
			}
			for _, ord := range owners[names[i]] {
				x := lacks[ord]
				if root {
					x.roots.Lacks++
				} else {
					x.own.Lacks++
				}
				lacks[ord] = x
			}
		}
	}
	b.lack(w, lacks)
}

// lack notes what the relay lacks now. The number of events here, per repository,
// stays as of the last time that the relay was asked by items.
func (b *Book) lack(w *want.Want, lacks map[uint32]shares) {
	now := make(map[uint32]shares, len(b.last))
	for ord, x := range b.last {
		now[ord] = shares{own: Count{Here: x.own.Here}, roots: Count{Here: x.roots.Here}}
	}
	for ord, x := range lacks {
		was, known := now[ord]
		if !known { // the relay was never asked for this repository by items
			continue
		}
		was.own.Lacks, was.roots.Lacks = x.own.Lacks, x.roots.Lacks
		was.own.Here, was.roots.Here = max(was.own.Here, x.own.Lacks), max(was.roots.Here, x.roots.Lacks)
		now[ord] = was
	}
	if b.filling {
		b.whole = now
	} else {
		b.last = now
	}
	b.recount(w)
}

// keepLast takes what was known before as what the comparison of everything told.
func (b *Book) keepLast() {
	if b.filling {
		b.whole = maps.Clone(b.last)
	}
}

// owned returns the key of a filter's value: the same for a repository's address and
// for the address of its state.
func owned(tag byte, value string) string {
	if tag != 'd' && strings.HasPrefix(value, "30618:") {
		value = "30617" + value[len("30617"):]
	}
	return string(tag|0x20) + value
}

// belonging returns which repositories the values of the filters for items belong to.
func belonging(w *want.Want, layer want.Layer, in func(want.Item) bool) map[string][]uint32 {
	out := make(map[string][]uint32)
	add := func(tag byte, value string, r *want.RepoWant) {
		k := owned(tag, value)
		out[k] = append(out[k], r.Ord)
	}
	for _, r := range w.Repos {
		if in(r.Item) {
			x := w.Repository(r.Item)
			add('d', x.D, r)
			for _, a := range x.Addresses {
				add('a', a, r)
				add('q', a, r)
			}
		}
		if layer != want.LayerRoots {
			continue
		}
		r.EachRoot(func(it want.Item) {
			if in(it) {
				id := w.Root(it).String()
				add('e', id, r)
				add('q', id, r)
			}
		})
	}
	return out
}

// NamesOf returns the keys by which an event may belong to repositories: keys of identifiers, addresses and root events.
func NamesOf(e *nostr.Event) []string {
	var out []string
	for _, t := range e.Tags {
		switch name := t.Name(); name {
		case "a", "A", "q", "e", "E":
			out = append(out, owned(name[0], t.Value()))
		case "d":
			if e.Kind == nip34.KindRepository || e.Kind == nip34.KindState {
				out = append(out, owned('d', t.Value()))
			}
		}
	}
	return out
}

// isRootKey reports whether a key is that of a root event; otherwise it names a repository.
func isRootKey(key string) bool {
	return key[0] == 'e' || key[0] == 'q' && !strings.Contains(key, ":")
}

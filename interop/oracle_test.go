package interop

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

// oracle says by plain means what a relay holds that takes part in the sync: which events it accepts, and which of another relay's
// events its questions reach. It knows nothing of how graspd works; it tries every rule on every event until nothing changes.
type oracle struct {
	service string // by which announcements list the relay
	source  string // by which they list the other one; "" asks nothing and takes what the operator brings
	now     int64
}

// ids is a set of events by id.
type ids map[string]*nostr.Event

// verdict is what the oracle expects. Where a repository or an event that others name was deleted, it depends on the order of arrival
// whether those others were accepted before: they may be held or not.
type verdict struct {
	must, may ids
	items     map[string]string // addresses and ids that the other relay is asked for, and the tags that ask
}

// expect is the verdict on a relay that starts with the events in holds and learns all the others.
func (o oracle) expect(holds, others []*nostr.Event) verdict {
	var genuine []*nostr.Event
	for i, e := range slices.Concat(holds, others) {
		brought := i < len(holds) || o.source == "" // by the operator, who may bring protected events (NIP-70)
		if o.welcome(e) && (brought || !e.Protected()) {
			genuine = append(genuine, e)
		}
	}
	newest := newestVersions(genuine)
	ever := o.grow(holds, genuine) // whatever can be accepted at some time
	deleted := deletions(ever)
	alive := slices.DeleteFunc(slices.Clone(genuine), func(e *nostr.Event) bool { return deleted[e.ID.String()] || superseded(e, newest) })
	v := verdict{o.grow(holds, alive), ids{}, map[string]string{}}
	w := o.look(v.must, alive)
	for a := range w.asked {
		v.items[a] = "aAq"
	}
	for id := range w.roots {
		v.items[id] = "eEq"
	}
	for id, e := range ever {
		if e.Kind != nostr.KindDeletion {
			continue
		}
		if v.must[id] = e; o.mayBeAged(e) {
			delete(v.must, id)
		}
	}
	for id, e := range ever {
		if !deleted[id] && !superseded(e, newest) && (e.Kind != 30617 || v.must[id] != nil) {
			v.may[id] = e
		}
	}
	return v
}

// mayBeAged reports whether a deletion may be served no more, as it is old: whether it has removed anything here depends on what came
// first.
func (o oracle) mayBeAged(e *nostr.Event) bool {
	return e.Kind == nostr.KindDeletion && e.CreatedAt+30*24*3600 <= o.now+900
}

// welcome is what an event says for itself: not expired, ephemeral or of the future.
func (o oracle) welcome(e *nostr.Event) bool {
	expiry, expires := e.Expiration()
	return !(expires && expiry <= o.now) && e.CreatedAt <= o.now+900 && !e.Kind.IsEphemeral() && e.Kind != nostr.KindVanish
}

// newestVersions are those of replaceable and addressable events, by address (NIP-01).
func newestVersions(events []*nostr.Event) map[string]*nostr.Event {
	newest := map[string]*nostr.Event{}
	for _, e := range events {
		if a := e.Address(); a != "" && (newest[a] == nil || e.CreatedAt > newest[a].CreatedAt ||
			e.CreatedAt == newest[a].CreatedAt && e.ID.String() < newest[a].ID.String()) {
			newest[a] = e
		}
	}
	return newest
}

func superseded(e *nostr.Event, newest map[string]*nostr.Event) bool {
	a := e.Address()
	return a != "" && newest[a] != e
}

// deletions are the ids that authors deleted (NIP-09).
func deletions(held ids) map[string]bool {
	gone := map[string]bool{}
	for _, d := range held {
		if d.Kind != nostr.KindDeletion {
			continue
		}
		for id, e := range held {
			if e.PubKey != d.PubKey || e.Kind == nostr.KindDeletion {
				continue
			}
			if has(d, id, "e") || e.Address() != "" && e.CreatedAt <= d.CreatedAt && has(d, e.Address(), "a") {
				gone[id] = true
			}
		}
	}
	return gone
}

// grow is the fixed point: what of all can be reached and accepted, beginning with the events in holds.
func (o oracle) grow(holds, all []*nostr.Event) ids {
	held := ids{}
	for _, e := range holds {
		if slices.Contains(all, e) {
			held[e.ID.String()] = e
		}
	}
	for {
		w := o.look(held, all)
		before := len(held)
		for _, e := range all {
			id := e.ID.String()
			if held[id] == nil && (o.source == "" || w.reaches(e)) && w.accepts(e) {
				held[id] = e
			}
		}
		if len(held) == before {
			return held
		}
	}
}

// world is what follows from the events that are held.
type world struct {
	held      ids
	welcome   map[string]bool // addresses of repositories whose announcement is accepted
	addresses map[string]bool // of the held events
	named     map[string]bool // ids and addresses that held events name
	authors   map[string]bool

	asked map[string]bool // addresses of the repositories that are asked for
	ds    map[string]bool // their d
	roots map[string]bool // ids
}

func (o oracle) look(held ids, all []*nostr.Event) *world {
	w := &world{held, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, e := range held {
		w.addresses[e.Address()] = true
		w.authors[e.PubKey.String()] = true
		for _, v := range values(e, "a", "A", "q", "e", "E") {
			w.named[v] = true
		}
	}
	same := map[string][]*nostr.Event{} // announcements by d
	for _, e := range all {
		if e.Kind == 30617 {
			same[e.Tags.D()] = append(same[e.Tags.D()], e)
		}
	}
	for d, group := range same {
		for _, root := range group {
			if !lists(root, o.service) {
				continue
			}
			members, invited := maintainers(root, group)
			wanted := false
			for _, a := range slices.Concat(members, invited) {
				w.welcome[a.Address()] = true
			}
			for _, a := range members {
				wanted = wanted || lists(a, o.source)
			}
			if !wanted || held[root.ID.String()] == nil {
				continue
			}
			w.ds[d] = true
			for _, a := range members {
				w.asked[a.Address()] = true
			}
		}
	}
	for id, e := range held {
		if (e.Kind >= 1617 && e.Kind <= 1619 || e.Kind == 1621) && slices.ContainsFunc(values(e, "a"), func(a string) bool { return w.asked[a] }) {
			w.roots[id] = true
		}
	}
	return w
}

// maintainers are the announcements of those who have a say in the repository of root, root first, and of those who are only invited:
// a member lists them and they list nobody back.
func maintainers(root *nostr.Event, group []*nostr.Event) (members, invited []*nostr.Event) {
	members = []*nostr.Event{root}
	listsOneOf := func(a *nostr.Event, of []*nostr.Event) bool {
		return slices.ContainsFunc(of, func(m *nostr.Event) bool { return slices.Contains(list(a, "maintainers"), m.PubKey.String()) })
	}
	for {
		invited = nil
		before := len(members)
		for _, a := range group {
			in := func(m *nostr.Event) bool { return m.PubKey == a.PubKey }
			if slices.ContainsFunc(members, in) || len(values(a, "u")) > 0 ||
				!slices.ContainsFunc(members, func(m *nostr.Event) bool { return listsOneOf(m, []*nostr.Event{a}) }) {
				continue
			}
			if listsOneOf(a, members) {
				members = append(members, a)
			} else {
				invited = append(invited, a)
			}
		}
		if len(members) == before {
			return members, invited
		}
	}
}

// reaches reports whether the questions of layers 1 to 3 find e.
func (w *world) reaches(e *nostr.Event) bool {
	one := func(of map[string]bool, tags ...string) bool {
		return slices.ContainsFunc(values(e, tags...), func(v string) bool { return of[v] })
	}
	switch {
	case e.Kind == 30617, e.Kind == 30618 && w.ds[e.Tags.D()], one(w.asked, "a", "A", "q"), one(w.roots, "e", "E", "q"):
		return true
	case e.Kind == nostr.KindDeletion:
		return slices.ContainsFunc(values(e, "a"), func(v string) bool { return w.asked[strings.Replace(v, "30618:", "30617:", 1)] })
	}
	return false
}

// accepts is the rule for an event that says nothing against itself.
func (w *world) accepts(e *nostr.Event) bool {
	switch e.Kind {
	case 30617:
		return w.welcome[e.Address()]
	case 30618:
		return w.addresses[strings.Replace(e.Address(), "30618:", "30617:", 1)]
	case 5, 10317:
		if w.authors[e.PubKey.String()] {
			return true
		}
	}
	here := func(v string) bool {
		return w.held[v] != nil || v != e.Address() && strings.Contains(v, ":") && w.addresses[v]
	}
	return slices.ContainsFunc(values(e, "a", "A", "q", "e", "E"), here) || w.named[e.ID.String()] || e.Address() != "" && w.named[e.Address()]
}

// lists reports whether an announcement names the relay, the scheme aside.
func lists(e *nostr.Event, relay string) bool {
	return slices.ContainsFunc(list(e, "relays"), func(u string) bool { return strings.TrimRight(u, "/") == relay })
}

// list is all values of the tags of that name.
func list(e *nostr.Event, name string) (all []string) {
	for _, t := range e.Tags {
		if len(t) > 0 && t[0] == name {
			all = append(all, t[1:]...)
		}
	}
	return all
}

// values is the first value of each tag of these names.
func values(e *nostr.Event, names ...string) (all []string) {
	for _, t := range e.Tags {
		if len(t) > 1 && slices.Contains(names, t[0]) {
			all = append(all, t[1])
		}
	}
	return all
}

func has(e *nostr.Event, value string, names ...string) bool {
	return slices.Contains(values(e, names...), value)
}

// The corpus knows of each event what becomes of it. Two ways to the same answer.
func TestOracleAgreesWithTheCorpus(t *testing.T) {
	const service, source = "wss://relay.example.org", "ws://127.0.0.1:1"
	until := time.Now().Unix()
	c := corpus.Generate(corpus.Options{Seed: 7, Repositories: 60, Roots: 400, Others: 1200, Noise: 200, Relays: []string{source},
		Service: service, Since: until - 300*24*3600, Until: until, Older: true})
	v := oracle{service, source, until}.expect(nil, slices.Collect(c.Events()))
	reach := corpus.NewReach(c.Events(corpus.Served))
	loose := 0
	for _, it := range c.Items {
		id := it.Event.ID.String()
		must, may := v.must[id] != nil, v.may[id] != nil
		if may && !must {
			loose++
		}
		expected := it.Fate == corpus.Served && reach.Layer(it.Event) > 0
		switch {
		case it.Fate == corpus.Loose:
		case it.What == corpus.Comment && it.Fate == corpus.Deleted: // its deletion names only the comment, and waits for layer 4
		case it.What == corpus.Deletion && may && !must: // it may have aged
		case must && !expected && it.What != corpus.Deletion, !must && expected, may && it.Fate != corpus.Served:
			t.Errorf("%s of kind %d, %v, %v, layer %d: must %t, may %t", id, it.Event.Kind, it.What, it.Fate, reach.Layer(it.Event), must, may)
		}
	}
	t.Logf("%d events, %d must be held, %d may", len(c.Items), len(v.must), loose)
	if len(v.must) < 1200 {
		t.Error("hardly anything is expected")
	}
}

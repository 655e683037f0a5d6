package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// ids is a set of events by id.
type ids map[nostr.ID]*nostr.Event

// oracle says by plain means what a relay should hold. It knows nothing of how
// graspd works: it tries every rule on every event.
type oracle struct {
	self    grasp.RelayURL
	now     int64
	boot    []grasp.RelayURL
	peers   []grasp.RelayURL                     // that it is connected to
	demands map[grasp.RelayURL]testkit.KindsMode // what filters must name
	work    int                                  // bits that events must show
	all     ids                                  // events that were ever made
	served  ids                                  // what the relay serves
	ever    ids                                  // what it has ever served
	sources map[grasp.RelayURL]ids
}

// wanted are the relays that should be connected: those that the repositories
// name that are carried, and those that the operator typed.
func (o oracle) wanted() []grasp.RelayURL {
	set := map[grasp.RelayURL]bool{}
	for _, u := range o.boot {
		set[u] = true
	}
	for u := range o.look().wants {
		set[u] = true
	}
	delete(set, o.self)
	return slices.Sorted(maps.Keys(set))
}

// connected are those of them that are.
func (o oracle) connected() []grasp.RelayURL {
	return slices.DeleteFunc(o.wanted(), func(u grasp.RelayURL) bool { return !slices.Contains(o.peers, u) })
}

// givenKinds are kinds that are asked for of every relay that demands to be told kinds.
var givenKinds = []nostr.Kind{5, 1111, 1617, 1618, 1619, 1621, 1630, 1631, 1632, 1633}

// gives reports whether a relay can be brought to show e, for all that its filters must name.
func (o oracle) gives(u grasp.RelayURL, a *asked, e *nostr.Event) bool {
	switch o.demands[u] {
	case testkit.KindsAny:
		return true
	case testkit.KindsEmpties: // a filter with nothing but kinds
		switch {
		case e.Kind == 30617 && e.Tags.D() == "": // asked for by author
			return a.addresses[e.Address()]
		case e.Kind == 30617:
			return a.ds[e.Tags.D()]
		}
	}
	return e.Kind == 30617 || e.Kind == 30618 || slices.Contains(givenKinds, e.Kind)
}

// repositories are the announcements that are served, in order.
func (o oracle) repositories() []*nostr.Event {
	var out []*nostr.Event
	for _, e := range o.served {
		if e.Kind == 30617 {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *nostr.Event) int { return a.ID.Compare(b.ID) })
	return out
}

// lacksWork reports whether an event shows too little proof of work (NIP-13).
func (o oracle) lacksWork(e *nostr.Event) bool { return zeros(e.ID) < o.work }

// world is what follows from the events that are served.
type world struct {
	o         oracle
	authors   map[nostr.PubKey]bool
	addresses map[string]bool
	named     map[string]bool // ids and addresses that served events name
	wants     map[grasp.RelayURL]*asked
}

// asked is what one relay is asked for.
type asked struct {
	addresses map[string]bool // of repositories
	ds        map[string]bool
	roots     map[string]bool // ids

	// Layer 4, about the repositories that the relay is wanted for.
	authors map[nostr.PubKey]bool
	answers map[string]bool // ids of what is no root event; what names them is asked for
	missing map[string]bool // ids that are named
}

func (o oracle) look() *world {
	w := &world{o, map[nostr.PubKey]bool{}, map[string]bool{}, map[string]bool{}, map[grasp.RelayURL]*asked{}}
	for _, e := range o.served {
		w.authors[e.PubKey] = true
		if a := e.Address(); a != "" {
			w.addresses[a] = true
		}
		for _, v := range values(e, "a", "A", "q", "e", "E") {
			w.named[v] = true
		}
	}
	for d, group := range announcements(o.served) {
		for _, root := range group {
			if o.lists(root) {
				w.repository(d, root, group)
			}
		}
	}
	for _, u := range o.boot {
		w.ask(u)
	}
	for id, e := range o.served {
		if e.Kind < 1617 || e.Kind > 1621 || e.Kind == 1620 {
			continue
		}
		for _, a := range w.wants {
			if slices.ContainsFunc(values(e, "a"), func(v string) bool { return a.addresses[v] }) {
				a.roots[id.String()] = true
			}
		}
	}
	for _, a := range w.wants {
		w.survey(a)
	}
	return w
}

// depth is how far answers to answers are followed.
const depth = 8

// survey gathers what layer 4 asks of one relay: about everything that belongs to its repositories, what answers that,
// and what is named.
func (w *world) survey(a *asked) {
	belongs := ids{}
	take := func(match func(*nostr.Event) bool) {
		for id, e := range w.o.served {
			if belongs[id] == nil && match(e) {
				belongs[id] = e
			}
		}
	}
	named := func(e *nostr.Event) []string {
		if e.Kind == nostr.KindDeletion || e.Kind == nostr.KindVanish {
			return nil // what these name is to be gone
		}
		return values(e, "e", "E", "q")
	}
	take(func(e *nostr.Event) bool {
		return a.addresses[e.Address()] || w.reaches(a, e) && e.Kind != 30617 && e.Kind != 30618
	})
	for range depth {
		for before := -1; before < len(belongs); {
			before = len(belongs)
			for _, e := range belongs {
				for _, v := range named(e) {
					if x := w.o.served[parseID(v)]; x != nil {
						belongs[x.ID] = x
					}
				}
			}
		}
		now := maps.Clone(belongs)
		take(func(e *nostr.Event) bool {
			return slices.ContainsFunc(values(e, "e", "E", "q"), func(v string) bool { return now[parseID(v)] != nil })
		})
	}
	for id, e := range belongs {
		a.authors[e.PubKey] = true
		a.answers[id.String()] = !isRoot(e)
		for _, v := range named(e) {
			a.missing[v] = true
		}
	}
}

// reachesLate reports whether the questions of layer 4 find e.
func (w *world) reachesLate(a *asked, e *nostr.Event) bool {
	return (e.Kind == nostr.KindDeletion || e.Kind == nostr.KindVanish) && a.authors[e.PubKey] || a.missing[e.ID.String()] ||
		slices.ContainsFunc(values(e, "e"), func(v string) bool { return a.answers[v] })
}

func (w *world) ask(u grasp.RelayURL) *asked {
	if w.wants[u] == nil {
		w.wants[u] = &asked{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[nostr.PubKey]bool{}, map[string]bool{}, map[string]bool{}}
	}
	return w.wants[u]
}

// repository asks the relays that its maintainers name, and those that the operator typed.
func (w *world) repository(d string, root *nostr.Event, group []*nostr.Event) {
	members, _ := maintainers(root, group)
	var from []*asked
	for _, u := range w.o.boot {
		if u != w.o.self {
			from = append(from, w.ask(u))
		}
	}
	for _, m := range members {
		for _, raw := range list(m, "relays") {
			if u, err := grasp.NormalizeRelay(raw); err == nil && u != w.o.self {
				from = append(from, w.ask(u))
			}
		}
	}
	for _, a := range from {
		a.ds[d] = true
		for _, m := range members {
			a.addresses[m.Address()] = true
		}
	}
}

// lists reports whether an announcement names the relay.
func (o oracle) lists(e *nostr.Event) bool {
	return slices.ContainsFunc(list(e, "relays"), func(raw string) bool {
		u, err := grasp.NormalizeRelay(raw)
		return err == nil && u == o.self
	})
}

// announcements are those among events, by d.
func announcements(events ids) map[string][]*nostr.Event {
	same := map[string][]*nostr.Event{}
	for _, e := range events {
		if e.Kind == 30617 {
			same[e.Tags.D()] = append(same[e.Tags.D()], e)
		}
	}
	return same
}

// maintainers are the announcements of those who have a say in the repository of root, root first, and of those who are
// only invited: a member lists them and they list nobody back.
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

// faults are all differences between what is served and what should be.
func (o oracle) faults() []string {
	var out []string
	w := o.look()
	newest, visible := o.newest()
	for _, u := range o.connected() {
		for _, e := range o.sources[u] {
			if o.served[e.ID] == nil && !o.mayBeAged(e) && o.gives(u, w.wants[u], e) && (w.reaches(w.wants[u], e) || w.reachesLate(w.wants[u], e)) && w.accepts(e) && o.against(e, newest, o.ever) == "" {
				out = append(out, fmt.Sprintf("%s is missing and on %s", tell(e), u))
			}
		}
	}
	for _, e := range o.ever {
		if o.served[e.ID] == nil && !o.mayBeAged(e) && o.against(e, newest, o.ever) == "" && (e.Kind != 30617 || w.accepts(e)) {
			out = append(out, fmt.Sprintf("%s was served and is gone", tell(e)))
		}
	}
	possible := o.possible()
	for _, e := range o.served {
		switch made := o.all[e.ID]; {
		case made == nil || made.Content != e.Content || made.Sig != e.Sig:
			out = append(out, fmt.Sprintf("%s is forged", tell(e)))
		case o.against(e, visible, o.served) != "":
			out = append(out, fmt.Sprintf("%s is served though %s", tell(e), o.against(e, visible, o.served)))
		case o.isAged(e):
			out = append(out, fmt.Sprintf("%s is served though it is old and deletes nothing", tell(e)))
		case e.Kind == 30617 && !w.accepts(e), possible[e.ID] == nil:
			out = append(out, fmt.Sprintf("%s is served without a reason", tell(e)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// skewed is by how much a relay's clock may have been wrong.
const skewed = 3 * 24 * 3600

// mayBeAged reports whether a deletion may be served no more, as it is old: what it has removed or kept away here nobody can tell from
// the outside.
func (o oracle) mayBeAged(e *nostr.Event) bool {
	return e.Kind == nostr.KindDeletion && e.CreatedAt+30*24*3600 <= o.now+skewed
}

// isAged reports whether a deletion is to be served no more: nothing was ever made that it deletes.
func (o oracle) isAged(e *nostr.Event) bool {
	if e.Kind != nostr.KindDeletion || e.CreatedAt+30*24*3600 > o.now-skewed {
		return false
	}
	for _, x := range o.all {
		if deletes(e, x) {
			return false
		}
	}
	return true
}

// possible is everything that may have been accepted in some order of arrival, with everything that has ever been made.
// What made it acceptable may have gone at once.
func (o oracle) possible() ids {
	past := o
	past.served = ids{}
	for grown := true; grown; {
		grown = false
		w := past.look()
		for _, e := range o.all {
			if past.served[e.ID] == nil && (w.accepts(e) || e.Kind == 30617 && w.invites(e)) {
				past.served[e.ID] = e
				grown = true
			}
		}
	}
	return past.served
}

// invites says of an announcement whether any other names its author as a maintainer.
func (w *world) invites(e *nostr.Event) bool {
	return slices.ContainsFunc(announcements(w.o.served)[e.Tags.D()], func(a *nostr.Event) bool {
		return slices.Contains(list(a, "maintainers"), e.PubKey.String())
	})
}

// newest is the newest version under each address that the relay may have met, and that it has served or can see now:
// an announcement that does not belong here takes the place of an older one without ever being served.
func (o oracle) newest() (met, visible map[string]*nostr.Event) {
	met, visible = map[string]*nostr.Event{}, map[string]*nostr.Event{}
	take := func(newest map[string]*nostr.Event, e *nostr.Event) {
		a := e.Address()
		if old := newest[a]; a != "" && (old == nil || e.CreatedAt > old.CreatedAt || e.CreatedAt == old.CreatedAt && e.ID.Compare(old.ID) < 0) {
			newest[a] = e
		}
	}
	for _, e := range o.ever {
		take(met, e)
		take(visible, e)
	}
	for _, e := range o.all {
		if e.Kind == 30617 {
			take(met, e)
		}
	}
	wants := o.look().wants
	for _, u := range o.connected() {
		for _, e := range o.sources[u] {
			if e.Kind == 30617 && o.alone(e) == "" && !o.lacksWork(e) && o.gives(u, wants[u], e) {
				take(visible, e)
			}
		}
	}
	return met, visible
}

// against is what speaks against e beside the lack of a relation; "" for nothing.
func (o oracle) against(e *nostr.Event, newest map[string]*nostr.Event, removals ids) string {
	if s := o.alone(e); s != "" {
		return s
	}
	if n := newest[e.Address()]; n != nil && n.ID != e.ID && (n.CreatedAt > e.CreatedAt || n.CreatedAt == e.CreatedAt && n.ID.Compare(e.ID) < 0) {
		return "there is a newer version, " + tell(n)
	}
	for _, d := range removals {
		if deletes(d, e) {
			return "its author deleted it"
		}
		if o.vanishes(d, e) {
			return "its author vanished"
		}
	}
	return ""
}

// alone is what an event says against itself.
func (o oracle) alone(e *nostr.Event) string {
	expiry, expires := e.Expiration()
	switch {
	case e.Protected():
		return "it is protected"
	case expires && expiry <= o.now:
		return "it has expired"
	case e.CreatedAt > o.now+900:
		return "it is of the future"
	case e.Kind.IsEphemeral():
		return "it is ephemeral"
	case e.Kind.IsAddressable() && len(e.Tags.D()) > 8192:
		return "its d is too long"
	}
	return ""
}

// vanishes reports whether d is a request to vanish that takes e away (NIP-62).
func (o oracle) vanishes(d, e *nostr.Event) bool {
	return d.Kind == nostr.KindVanish && d.PubKey == e.PubKey && d.ID != e.ID && e.CreatedAt <= d.CreatedAt && o.named(d)
}

// named reports whether a request to vanish is meant for the relay.
func (o oracle) named(e *nostr.Event) bool {
	return has(e, "ALL_RELAYS", "relay") || has(e, string(o.self), "relay")
}

// deletes reports whether d is a deletion that takes e away (NIP-09). Deletions and requests to vanish stay.
func deletes(d, e *nostr.Event) bool {
	if d.Kind != nostr.KindDeletion || d.PubKey != e.PubKey || e.Kind == nostr.KindDeletion || e.Kind == nostr.KindVanish {
		return false
	}
	return has(d, e.ID.String(), "e") || e.Address() != "" && e.CreatedAt <= d.CreatedAt && has(d, e.Address(), "a")
}

// reaches reports whether the questions of layers 1 to 3 find e.
func (w *world) reaches(a *asked, e *nostr.Event) bool {
	one := func(of map[string]bool, tags ...string) bool {
		return slices.ContainsFunc(values(e, tags...), func(v string) bool { return of[v] })
	}
	switch {
	case e.Kind == 30618 && e.Tags.D() == "": // no relay can be asked for that, so they are asked for by author
		return a.addresses[strings.Replace(e.Address(), "30618:", "30617:", 1)]
	case e.Kind == 30617, e.Kind == 30618 && a.ds[e.Tags.D()], one(a.addresses, "a", "A", "q"), one(a.roots, "e", "E", "q"):
		return true
	case e.Kind == nostr.KindDeletion:
		return slices.ContainsFunc(values(e, "a"), func(v string) bool { return a.addresses[strings.Replace(v, "30618:", "30617:", 1)] })
	}
	return false
}

// accepts is the rule for an event that says nothing against itself.
func (w *world) accepts(e *nostr.Event) bool {
	if w.o.lacksWork(e) && (e.Kind != nostr.KindDeletion && e.Kind != nostr.KindVanish || !w.authors[e.PubKey]) {
		return false
	}
	switch e.Kind {
	case 30617:
		return w.welcomes(e)
	case 30618:
		return w.addresses[strings.Replace(e.Address(), "30618:", "30617:", 1)]
	case nostr.KindVanish:
		return w.o.named(e) && w.authors[e.PubKey]
	case nostr.KindDeletion, nostr.KindMetadata, 10317:
		if w.authors[e.PubKey] {
			return true
		}
	}
	here := func(v string) bool {
		return w.o.served[parseID(v)] != nil || v != e.Address() && strings.Contains(v, ":") && w.addresses[v]
	}
	return slices.ContainsFunc(values(e, "a", "A", "q", "e", "E"), here) || w.named[e.ID.String()] || e.Address() != "" && w.named[e.Address()]
}

// welcomes says of an announcement whether it lists the relay or somebody who does invites its author.
func (w *world) welcomes(e *nostr.Event) bool {
	if w.o.lists(e) {
		return true
	}
	group := []*nostr.Event{e}
	for _, a := range announcements(w.o.served)[e.Tags.D()] {
		if a.PubKey != e.PubKey {
			group = append(group, a)
		}
	}
	for _, root := range group {
		if !w.o.lists(root) {
			continue
		}
		members, invited := maintainers(root, group)
		if slices.Contains(members, e) || slices.Contains(invited, e) {
			return true
		}
	}
	return false
}

func parseID(v string) nostr.ID {
	id, err := nostr.ParseID(v)
	if err != nil {
		return nostr.ID{}
	}
	return id
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

// tell names an event for people.
func tell(e *nostr.Event) string {
	return fmt.Sprintf("%s (kind %d, %q, created %d, by %.8s)", e.ID.String()[:12], e.Kind, e.Content, e.CreatedAt, e.PubKey)
}

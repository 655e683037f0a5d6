package corpus_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

// model is a relay as plain as can be: the real policy over maps, and the rules of NIP-01, NIP-09 and NIP-40.
type model struct {
	rules   policy.Rules
	now     time.Time
	held    map[nostr.ID]*nostr.Event
	at      map[string]*nostr.Event // by address
	named   map[string]int          // how many held events name an id or address
	authors map[nostr.PubKey]int
	parts   map[nostr.PubKey]int // of their events, those that make them participants
	gone    map[string]int64     // author and id or address of what was deleted, and up to when
}

func newModel(t *testing.T, relay string) *model {
	t.Helper()
	u, err := grasp.NormalizeRelay(relay)
	if err != nil {
		t.Fatal(err)
	}
	_, domain, _ := cut(string(u))
	service, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	return &model{policy.Rules{Service: service}, time.Unix(until, 0), map[nostr.ID]*nostr.Event{}, map[string]*nostr.Event{},
		map[string]int{}, map[nostr.PubKey]int{}, map[nostr.PubKey]int{}, map[string]int64{}}
}

func cut(u string) (scheme, rest string, ok bool) {
	for i := range len(u) - 2 {
		if u[i:i+3] == "://" {
			return u[:i], u[i+3:], true
		}
	}
	return "", u, false
}

func (m *model) Announcements(d string, r policy.Rules) (*policy.Announced, error) {
	var out []*nostr.Event
	for _, e := range m.at {
		if e.Kind == nip34.KindRepository && e.Tags.D() == d {
			out = append(out, e)
		}
	}
	return r.Gather(out), nil
}
func (m *model) Has(id nostr.ID) (bool, error) { return m.held[id] != nil, nil }
func (m *model) HasBy(id nostr.ID, by nostr.PubKey) (bool, error) {
	return m.held[id] != nil && m.held[id].PubKey == by, nil
}
func (m *model) HasAddress(a string) (bool, error)      { return m.at[a] != nil, nil }
func (m *model) HasAuthor(p nostr.PubKey) (bool, error) { return m.authors[p] > 0, nil }
func (m *model) TakesPart(p nostr.PubKey) (bool, error) { return m.parts[p] > 0, nil }
func (m *model) Named(id nostr.ID, a string) (bool, error) {
	return m.named[id.String()] > 0 || a != "" && m.named[a] > 0, nil
}

// add takes an event or not, and reports whether that is final.
func (m *model) add(t *testing.T, e *nostr.Event) bool {
	t.Helper()
	if end, ok := e.Expiration(); ok && end <= until {
		return true
	}
	if m.gone[e.PubKey.String()+e.ID.String()] > 0 || e.Address() != "" && m.gone[e.PubKey.String()+e.Address()] >= e.CreatedAt {
		return true
	}
	old := m.at[e.Address()]
	if old != nil && !e.Stamp().Newer(old.Stamp()) {
		return true
	}
	v, err := m.rules.Decide(e, policy.Stranger, m, m.now)
	if err != nil {
		t.Fatal(err)
	}
	if v.Outcome != policy.Accept {
		return false
	}
	if old != nil {
		m.count(old, -1)
	}
	m.count(e, 1)
	if e.Kind == nostr.KindDeletion {
		m.delete(e)
	}
	return true
}

func (m *model) delete(e *nostr.Event) {
	for _, tag := range e.Tags {
		switch tag.Name() {
		case "e":
			m.gone[e.PubKey.String()+tag.Value()] = e.CreatedAt
			if id, err := nostr.ParseID(tag.Value()); err == nil && m.held[id] != nil && m.held[id].PubKey == e.PubKey {
				m.count(m.held[id], -1)
			}
		case "a":
			key := e.PubKey.String() + tag.Value()
			m.gone[key] = max(m.gone[key], e.CreatedAt)
			if old := m.at[tag.Value()]; old != nil && old.PubKey == e.PubKey && old.CreatedAt <= e.CreatedAt {
				m.count(old, -1)
			}
		}
	}
}

func (m *model) count(e *nostr.Event, by int) {
	m.authors[e.PubKey] += by
	if policy.Partakes(e.Kind) {
		m.parts[e.PubKey] += by
	}
	for _, tag := range e.Tags {
		switch tag.Name() {
		case "a", "A", "e", "E", "q":
			m.named[tag.Value()] += by
		}
	}
	if by > 0 {
		m.held[e.ID] = e
		m.at[e.Address()] = e
	} else {
		delete(m.held, e.ID)
		delete(m.at, e.Address())
	}
	delete(m.at, "")
}

// fill offers the events, and those that were refused again until nothing changes any more.
func (m *model) fill(t *testing.T, events []*nostr.Event) {
	t.Helper()
	for {
		left := slices.DeleteFunc(slices.Clone(events), func(e *nostr.Event) bool { return m.add(t, e) })
		if len(left) == len(events) {
			return
		}
		events = left
	}
}

func TestFatesAreTrue(t *testing.T) {
	o := options(90, 500, 1600, 150)
	o.Older = true
	c := corpus.Generate(o)
	for _, relay := range append([]string{o.Service}, o.Relays...) {
		for _, order := range []string{"by time", "backwards", "shuffled"} {
			t.Run(relay+", "+order, func(t *testing.T) {
				events := slices.Collect(c.Events())
				switch order {
				case "backwards":
					slices.Reverse(events)
				case "shuffled":
					r := rand.New(rand.NewPCG(1, 2))
					r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
				}
				m := newModel(t, relay)
				m.fill(t, events)
				compare(t, c, m, relay)
			})
		}
	}
}

func compare(t *testing.T, c *corpus.Corpus, m *model, relay string) {
	t.Helper()
	required := 0
	for _, it := range c.Items {
		listed := slices.ContainsFunc(it.Repositories, func(i int) bool { return slices.Contains(c.Repositories[i].Relays, relay) })
		held := m.held[it.Event.ID] != nil
		switch {
		case it.Fate == corpus.Loose && listed:
		case it.What == corpus.Deletion && !listed: // any relay that knows the author takes it
		case held != (listed && it.Fate == corpus.Served):
			t.Errorf("%v %s, %v, of repositories %v: held %v", it.What, it.Event.ID, it.Fate, it.Repositories, held)
		case held:
			required++
		}
	}
	if required < 300 {
		t.Errorf("only %d events", required)
	}
}

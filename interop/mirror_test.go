package interop

import (
	"maps"
	"slices"
	"testing"
	"time"

	gonostr "github.com/nbd-wtf/go-nostr"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// An empty graspd fills itself from khatru and stays live on all of it.
func TestMirrorsKhatru(t *testing.T) {
	for _, c := range []struct {
		name       string
		negentropy bool
	}{{"with NIP-77", true}, {"without NIP-77", false}} {
		t.Run(c.name, func(t *testing.T) {
			m := newMirror(t, full, func(events []*nostr.Event) string { return startKhatru(t, c.negentropy, events) })
			m.fill(t)
			if !t.Run("live within a second", m.live) {
				return
			}
			m.stop(t)
			if c.negentropy {
				t.Run("restart fetches nothing", m.restartReconciles)
			} else {
				t.Run("restart verifies and stores nothing", m.restartPages)
			}
		})
	}
}

// mirror is a graspd that has one other relay.
type mirror struct {
	relay   string // its URL
	tap     *tap   // between the two
	data    string
	verdict verdict
	extra   ids // published since
	node    *node
	args    []string // for graspd
}

// newMirror starts the relay with a corpus that names it.
func newMirror(t *testing.T, s size, start func([]*nostr.Event) string) *mirror {
	t.Helper()
	m := &mirror{tap: newTap(t, ""), data: t.TempDir(), extra: ids{}}
	events := s.events(t, 1, service, m.tap.url)
	m.relay = start(events)
	m.tap.lead(m.relay)
	m.verdict = oracle{service, m.tap.url, time.Now().Unix()}.expect(nil, events)
	return m
}

func (m *mirror) start(t *testing.T) {
	m.node = serve(t, m.data, domain, append([]string{"--bootstrap", m.tap.url}, m.args...)...)
}

// fill starts graspd and waits until it has everything.
func (m *mirror) fill(t *testing.T) {
	t.Helper()
	must := slices.Collect(maps.Values(m.verdict.must))
	begun := time.Now()
	m.start(t)
	if !until(patience, func() bool { return m.tap.passed(m.verdict.must) }) || !until(patience, func() bool { return len(m.lacks(t, must)) == 0 }) {
		t.Errorf("not mirrored after %v; %s", time.Since(begun), m.tap.counts())
		m.stop(t)
		t.FailNow()
	}
	t.Logf("mirrored %d events in %v; %s", len(must), time.Since(begun).Round(10*time.Millisecond), m.tap.counts())
}

// lacks are the ids that graspd does not have.
func (m *mirror) lacks(t *testing.T, events []*nostr.Event) []string {
	t.Helper()
	lacks, _ := difference(t, m.node.url, gonostr.Filter{}, events)
	return lacks
}

// live publishes on the relay about issues that graspd is subscribed to, and measures the time from the relay's OK to a subscriber of
// graspd. Which issues those are is for graspd to choose where a relay bears no subscription to all of them.
func (m *mirror) live(t *testing.T) {
	const rounds = 20
	var issues []*nostr.Event
	if !until(patience, func() bool {
		issues = slices.DeleteFunc(m.issues(), func(e *nostr.Event) bool { return m.tap.lacks(isLive, map[string]string{e.ID.String(): "eEq"}) != "" })
		return len(issues) >= rounds
	}) {
		t.Fatalf("live on %d issues only", len(issues))
	}
	// khatru walks over its listeners unguarded, and may pass over one while it removes another: nothing is published while
	// subscriptions are merged.
	time.Sleep(10 * time.Second)
	publisher, subscriber := connect(t, m.relay), connect(t, m.node.url)
	var late []time.Duration
	for _, root := range issues[:rounds] {
		s := subscribe(t, subscriber, gonostr.Filter{Tags: gonostr.TagMap{"E": {root.ID.String()}}, LimitZero: true})
		comment := sign(key(9), time.Now().Unix(), 1111, nostr.Tag{"E", root.ID.String()}, nostr.Tag{"K", "1621"}, nostr.Tag{"e", root.ID.String()})
		m.extra[comment.ID.String()] = comment
		publish(t, publisher, comment)
		ok := time.Now()
		late = append(late, await(t, s, comment).Sub(ok))
		s.Unsub()
	}
	slices.Sort(late)
	t.Logf("from the relay's OK to the subscriber of graspd: median %v, longest %v of %d; %d issues live", late[len(late)/2], late[len(late)-1], len(late), len(issues))
	if late[len(late)-1] > time.Second {
		t.Error("more than a second")
	}
}

// issues are those that graspd must hold, by id.
func (m *mirror) issues() []*nostr.Event {
	var all []*nostr.Event
	for _, id := range slices.Sorted(maps.Keys(m.verdict.must)) {
		if e := m.verdict.must[id]; e.Kind == 1621 {
			all = append(all, e)
		}
	}
	return all
}

// stop ends graspd and compares what it holds.
func (m *mirror) stop(t *testing.T) {
	t.Helper()
	m.node.stop()
	v := verdict{must: maps.Clone(m.verdict.must), may: m.verdict.may}
	maps.Copy(v.must, m.extra)
	v.compare(t, export(t, m.data))
	if t.Failed() {
		t.Log(m.node.logs.tail())
	}
}

// mark publishes an issue on the relay and waits until graspd has it.
func (m *mirror) mark(t *testing.T) *nostr.Event {
	t.Helper()
	var tags nostr.Tags
	for _, a := range values(m.issues()[0], "a") {
		tags = append(tags, nostr.Tag{"a", a})
	}
	e := sign(key(9), time.Now().Unix(), 1621, tags...)
	m.extra[e.ID.String()] = e
	publish(t, connect(t, m.relay), e)
	if !until(patience, func() bool { return len(m.lacks(t, []*nostr.Event{e})) == 0 }) {
		t.Fatalf("the new issue does not come:\n%s\n%s", e.AppendJSON(nil), m.node.logs.tail())
	}
	return e
}

// restartReconciles starts graspd again: all is compared, nothing is sent. What is asked about an issue of after that comes later on
// the connection than whatever the comparison made graspd ask.
func (m *mirror) restartReconciles(t *testing.T) {
	here := make(map[string]bool)
	for _, e := range export(t, m.data) {
		here[e.ID.String()] = true
	}
	m.tap.reset()
	m.start(t)
	if !until(patience, func() bool { return m.tap.lacks(isCompared, m.verdict.items) == "" }) {
		t.Fatalf("not compared: %s", m.tap.lacks(isCompared, m.verdict.items))
	}
	marker := m.mark(t)
	if !until(patience, func() bool { return m.tap.lacks(isCompared, map[string]string{marker.ID.String(): "eEq"}) == "" }) {
		t.Fatal("the new issue is not asked about")
	}
	for _, e := range m.tap.events() {
		id := e.ID.String()
		if e.ID == marker.ID || e.CreatedAt > time.Now().Unix()+900 { // what lies ahead is not remembered
			continue
		}
		// An event that waited for another, and was dropped from those that wait before that one came, is taken now.
		if _, loose := m.verdict.may[id]; (here[id] || !loose) && !m.tap.onlyProbed(id) {
			t.Errorf("the relay sent %s of kind %d again, for %.300s", e.ID, e.Kind, m.tap.why(id))
		}
	}
	m.stop(t)
}

// restartPages starts graspd again: all is sent again, with signatures that are broken on the way. Where graspd knows the id
// already, nobody notices. A relay that sends so many forgeries would not keep its connection.
func (m *mirror) restartPages(t *testing.T) {
	before := export(t, m.data)
	m.tap.reset()
	m.tap.sendsForgeries(true)
	m.start(t)
	asked := maps.Clone(m.verdict.must) // nobody asks any more about what was deleted, and so by whom
	maps.DeleteFunc(asked, func(_ string, e *nostr.Event) bool { return e.Kind == nostr.KindDeletion })
	if !until(patience, func() bool { return m.tap.passed(asked) }) {
		t.Fatalf("not everything is sent again; %s\n%s", m.tap.counts(), m.node.logs.tail())
	}
	m.tap.sendsForgeries(false)
	m.mark(t)
	m.stop(t)
	t.Log(m.tap.counts())
	if m.tap.connections != 1 {
		t.Errorf("%d connections", m.tap.connections)
	}
	after := export(t, m.data)
	if len(after) != len(before)+1 {
		t.Fatalf("%d events stored before, %d after", len(before), len(after))
	}
	for i, e := range before {
		if after[i].ID != e.ID {
			t.Fatalf("entry %d is another event after the restart", i)
		}
	}
}

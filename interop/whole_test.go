package interop

import (
	"slices"
	"testing"
	"time"

	gonostr "github.com/nbd-wtf/go-nostr"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// A relay that turns out to hold nearly the same is asked as a whole from then on: nothing else, and nothing again.
func TestKhatruIsAskedAsAWhole(t *testing.T) {
	m := newMirror(t, size{40, 400, 1200, 20}, func(events []*nostr.Event) string { return startKhatru(t, true, events) })
	m.args = []string{"--sync-whole-from", "1"}
	m.fill(t)
	if !until(patience, func() bool { return m.node.logs.has("graspd compares everything with it at once from now on") }) {
		t.Fatalf("it is not:\n%s", m.node.logs.tail())
	}
	m.node.stop()
	// While graspd is away some comments appear, of all times.
	var missed []*nostr.Event
	publisher := connect(t, m.relay)
	for i, root := range m.issues()[:20] {
		e := sign(key(9), time.Now().Unix()-int64(i)*86_400, 1111, nostr.Tag{"E", root.ID.String()}, nostr.Tag{"K", "1621"}, nostr.Tag{"e", root.ID.String()})
		publish(t, publisher, e)
		missed = append(missed, e)
	}
	here := export(t, m.data)
	m.tap.reset()
	m.start(t)
	if !until(patience, func() bool { return len(m.lacks(t, missed)) == 0 }) {
		t.Fatalf("what appeared meanwhile does not come:\n%s", m.node.logs.tail())
	}
	time.Sleep(3 * time.Second) // as in live: nothing is published while khatru ends a subscription
	s := subscribe(t, connect(t, m.node.url), gonostr.Filter{Kinds: []int{1111}, LimitZero: true})
	now := sign(key(9), time.Now().Unix(), 1111, nostr.Tag{"E", m.issues()[0].ID.String()}, nostr.Tag{"K", "1621"}, nostr.Tag{"e", m.issues()[0].ID.String()})
	publish(t, publisher, now)
	await(t, s, now)
	for _, e := range m.tap.events() {
		if slices.ContainsFunc(here, func(x *nostr.Event) bool { return x.ID == e.ID }) && !m.tap.onlyProbed(e.ID.String()) {
			t.Errorf("the relay sent %s of kind %d again, for %.300s", e.ID, e.Kind, m.tap.why(e.ID.String()))
		}
	}
	// One that stays, the comparison, and those that look whether the relay hides its oldest events: above the oldest second, at it
	// and below.
	if bare, others := m.tap.asked(); bare < 3 || bare > 5 || others > 0 {
		t.Errorf("%d requests without a filter, %d with one", bare, others)
	}
	t.Log(m.tap.counts())
}

package interop

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gonostr "github.com/nbd-wtf/go-nostr"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// What is asked of a relay that tells no limits of its own, at most.
const (
	usualREQs    = 19
	usualFilters = 10
	usualBytes   = 120 << 10
)

// Three thousand root events on one relay are all followed live, within its limits.
func TestThousandsOfRootsAreLiveWithinTheLimits(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(*testing.T, []*nostr.Event) string
		reqs  int
	}{
		{"khatru", func(t *testing.T, events []*nostr.Event) string { return startKhatru(t, true, events) }, usualREQs},
		{"relayer", startRelayer, advertised},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMirror(t, size{60, 3100, 600, 0}, func(events []*nostr.Event) string { return c.start(t, events) })
			m.fill(t)
			roots := m.roots()
			if len(roots) < 3000 {
				t.Fatalf("only %d root events", len(roots))
			}
			tags := map[string]string{}
			for _, r := range roots {
				tags[r.ID.String()] = "eEq"
			}
			if !until(patience, func() bool { return m.tap.lacks(isLive, tags) == "" }) {
				t.Fatalf("not live on %s\n%s", m.tap.lacks(isLive, tags), m.node.logs.tail())
			}
			m.comment(t, roots, 50)
			t.Logf("%d root events live; %s", len(roots), m.tap.judge(t, c.reqs))
			m.stop(t)
		})
	}
}

// roots are the root events that graspd must hold and ask for, by id.
func (m *mirror) roots() []*nostr.Event {
	var all []*nostr.Event
	for _, id := range slices.Sorted(maps.Keys(m.verdict.items)) {
		if e := m.verdict.must[id]; e != nil {
			all = append(all, e)
		}
	}
	return all
}

// comment publishes comments on a random sample and waits for each.
func (m *mirror) comment(t *testing.T, roots []*nostr.Event, n int) {
	t.Helper()
	publisher, subscriber := connect(t, m.relay), connect(t, m.node.url)
	for _, i := range rand.Perm(len(roots))[:n] {
		root := roots[i].ID.String()
		s := subscribe(t, subscriber, gonostr.Filter{Tags: gonostr.TagMap{"E": {root}}, LimitZero: true})
		comment := sign(key(9), time.Now().Unix(), 1111, nostr.Tag{"E", root}, nostr.Tag{"K", "1621"}, nostr.Tag{"e", root})
		m.extra[comment.ID.String()] = comment
		publish(t, publisher, comment)
		await(t, s, comment)
		s.Unsub()
	}
}

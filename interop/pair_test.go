package interop

import (
	"hash/fnv"
	"maps"
	"slices"
	"testing"
	"time"

	gonostr "github.com/nbd-wtf/go-nostr"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Two graspd whose repositories list both fill each other from halves that have nothing in common.
func TestTwoConvergeFromDisjointHalves(t *testing.T) {
	taps := []*tap{newTap(t, ""), newTap(t, "")}
	s := size{60, 600, 1800, 200}
	events := s.events(t, 5, taps[0].url, taps[1].url)
	halves := split(events)
	dirs, held := []string{t.TempDir(), t.TempDir()}, make([][]*nostr.Event, 2)
	for i, dir := range dirs {
		load(t, dir, taps[i].domain(), halves[i])
		held[i] = export(t, dir)
		oracle{service: taps[i].url, now: time.Now().Unix()}.expect(nil, halves[i]).compare(t, held[i])
	}
	// An old deletion that has removed nothing yet is not served, and still keeps away what it names where it came.
	all := ids{}
	for _, e := range events {
		all[e.ID.String()] = e
	}
	aged := deletions(all)
	both := slices.Concat(held...)
	verdicts := make([]verdict, 2)
	for i := range 2 {
		verdicts[i] = oracle{taps[i].url, taps[1-i].url, time.Now().Unix()}.expect(held[i], both)
		for id := range aged {
			if e := verdicts[i].must[id]; e != nil {
				delete(verdicts[i].must, id)
				verdicts[i].may[id] = e
			}
		}
	}
	if n := len(verdicts[0].must); n < len(held[0])+200 || n < len(held[1])+200 {
		t.Fatalf("halves of %d and %d that become %d show nothing", len(held[0]), len(held[1]), n)
	}

	nodes := make([]*node, 2)
	begun := time.Now()
	for i, dir := range dirs {
		nodes[i] = serve(t, dir, taps[i].domain())
		taps[i].lead(nodes[i].url)
	}
	full := until(patience, func() bool {
		for i, n := range nodes {
			if lacks, _ := difference(t, n.url, gonostr.Filter{}, slices.Collect(maps.Values(verdicts[i].must))); len(lacks) > 0 {
				return false
			}
		}
		return true
	})
	t.Logf("converged: %t, after %v", full, time.Since(begun).Round(10*time.Millisecond))
	for i, n := range nodes {
		n.stop()
		t.Logf("towards %d: %s", i, taps[i].counts())
		verdicts[i].compare(t, export(t, dirs[i]))
		if t.Failed() {
			t.Log(n.logs.tail())
		}
	}
}

// split deals events out: each owner's announcements and states to one side, everything else by chance, so that the
// discussions of most repositories lie on both sides. What a side refuses because it lacks what it names, nobody has.
func split(events []*nostr.Event) [2][]*nostr.Event {
	var halves [2][]*nostr.Event
	for _, e := range events {
		h := fnv.New32a()
		switch e.Kind {
		case 30617, 30618, nostr.KindDeletion:
			h.Write(e.PubKey[:])
		default:
			h.Write(e.ID[:])
		}
		halves[h.Sum32()%2] = append(halves[h.Sum32()%2], e)
	}
	return halves
}

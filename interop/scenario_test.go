package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

// service is what announcements list for the graspd under test; nothing has to answer there.
const (
	domain  = "relay.example.org"
	service = "wss://" + domain
)

// size is how much a corpus holds.
type size struct{ repositories, roots, others, noise int }

// full is the size that a sync is shown at.
var full = size{200, 4000, 12_000, 2000}

// events is a corpus whose repositories list the service and the source, together with what a corpus has not.
func (s size) events(t *testing.T, seed uint64, service string, sources ...string) []*nostr.Event {
	t.Helper()
	until := time.Now().Unix() - 60
	c := corpus.Generate(corpus.Options{
		Seed: seed, Repositories: s.repositories, Roots: s.roots, Others: s.others, Noise: s.noise,
		Relays: sources, Service: service, Since: until - 300*24*3600, Until: until, Older: true,
	})
	return append(slices.Collect(c.Events()), traps(service, sources[0], until)...)
}

// traps are events that are easily got wrong.
func traps(service, source string, now int64) []*nostr.Event {
	owner, other, third := key(1), key(2), key(3)
	announce := func(by nostr.SecretKey, at int64, d string, relays []string, more ...nostr.Tag) *nostr.Event {
		return sign(by, at, 30617, append(more, nostr.Tag{"d", d}, append(nostr.Tag{"relays"}, relays...))...)
	}
	both, elsewhere := []string{source, service}, []string{source, "ws://127.0.0.1:9"}
	at := func(by nostr.SecretKey, d string) nostr.Tag {
		return nostr.Tag{"a", "30617:" + by.PubKey().String() + ":" + d}
	}
	e := func(of *nostr.Event) nostr.Tag { return nostr.Tag{"e", of.ID.String()} }

	kept := announce(owner, now-1000, "kept", both, nostr.Tag{"maintainers", other.PubKey().String(), third.PubKey().String()})
	issue := sign(other, now-900, 1621, at(owner, "kept"))
	second := sign(other, now-900, 1621, at(other, "unknown"), at(owner, "kept"))
	pull := sign(other, now-800, 1618, at(owner, "kept"))
	comment := sign(third, now-700, 1111, nostr.Tag{"E", issue.ID.String()}, nostr.Tag{"K", "1621"}, e(issue))
	return []*nostr.Event{
		kept, issue, second, pull, comment,
		announce(other, now-950, "kept", elsewhere, nostr.Tag{"maintainers", owner.PubKey().String()}), // a member
		announce(third, now-950, "kept", elsewhere),                                                    // invited
		announce(key(4), now-950, "kept", elsewhere),                                                   // neither
		sign(other, now-600, 30618, nostr.Tag{"d", "kept"}),
		sign(key(4), now-600, 30618, nostr.Tag{"d", "kept"}), // a state by nobody
		sign(third, now-600, 1632, e(second)),
		sign(third, now-600, 1619, nostr.Tag{"E", pull.ID.String()}), // reached by its E only
		sign(owner, now-500, 7, e(comment)),                          // names only a comment
		sign(owner, now-500, 7, e(issue), nostr.Tag{"-"}),
		sign(owner, now-500, 7, e(issue), nostr.Tag{"expiration", fmt.Sprint(now - 100)}),
		sign(owner, now+7200, 7, e(issue)),
		sign(owner, now-500, 1, nostr.Tag{"q", issue.ID.String()}),
		announce(owner, now-1000, "gone", both), // the newest version leaves
		announce(owner, now-900, "gone", elsewhere),
		announce(owner, now-1000, "back", both), // deleted, then announced again
		sign(owner, now-900, 5, at(owner, "back")),
		announce(owner, now-800, "back", both),
		announce(owner, now-1000, "dead", both),
		sign(owner, now-900, 5, at(owner, "dead")),
		announce(other, now-1000, "look-alike", []string{source, strings.Replace(service, "://", "://not", 1)}),
	}
}

func key(n byte) nostr.SecretKey { return nostr.SecretKey{0: 0x1d, 31: n} }

// sign makes an event.
func sign(by nostr.SecretKey, at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{CreatedAt: at, Kind: kind, Tags: append(nostr.Tags{}, tags...), Content: fmt.Sprintf("of kind %d", kind)}
	if err := by.Sign(e, [32]byte{}); err != nil {
		panic(err) // key and event are our own
	}
	return e
}

// compare fails unless a relay holds all that it must and nothing that it may not, and tells by kind what is wrong.
func (v verdict) compare(t *testing.T, held []*nostr.Event) {
	t.Helper()
	lacks, extra := map[nostr.Kind][]string{}, map[nostr.Kind][]string{}
	got := ids{}
	for _, e := range held {
		got[e.ID.String()] = e
		if v.must[e.ID.String()] == nil && v.may[e.ID.String()] == nil {
			extra[e.Kind] = append(extra[e.Kind], e.ID.String())
		}
	}
	for id, e := range v.must {
		if got[id] == nil {
			lacks[e.Kind] = append(lacks[e.Kind], id)
		}
	}
	for what, by := range map[string]map[nostr.Kind][]string{"lacks": lacks, "has too much": extra} {
		for kind, ids := range by {
			t.Errorf("%s %d of kind %d: %q", what, len(ids), kind, ids[:min(len(ids), 5)])
		}
	}
	loose := 0
	for id := range v.may {
		if v.must[id] == nil {
			loose++
		}
	}
	t.Logf("holds %d; must hold %d, may hold %d more", len(got), len(v.must), loose)
	if loose*4 > len(v.must) { // a half has fewer certain events than the whole
		t.Error("too much depends on the order of arrival for this to say anything")
	}
}

package relaysync_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
	"github.com/graspd/graspd/internal/test/testkit/lives"
)

// anySig takes every signature for good but an empty one.
type anySig struct{}

func (anySig) Verify(_ nostr.PubKey, _ nostr.ID, sig nostr.Sig) bool { return sig != nostr.Sig{} }

// junk are the ways in which an event of a stranger is no good, and how often it is asked for by its id in two starts.
var junk = map[string]struct {
	asked int
	how   func(e *nostr.Event)
}{
	"hashed with 0x7f escaped": {1, func(e *nostr.Event) {
		e.Content += "\x7f"
		e.ID = sha256.Sum256([]byte(strings.ReplaceAll(string(e.AppendCanonical(nil)), "\x7f", `\u007f`)))
	}},
	"other content":  {2, func(e *nostr.Event) { e.Content += "!" }},
	"no signature":   {2, func(e *nostr.Event) { e.Sig = nostr.Sig{} }},
	"not to be read": {2, func(e *nostr.Event) { e.Content += "\xff" }},
	"neither hash nor signature": {2, func(e *nostr.Event) {
		e.Content += "\x7f"
		e.ID = sha256.Sum256([]byte(e.Content))
		e.Sig = nostr.Sig{}
	}},
}

// TestJunkCostsNobodyElse: however many events that are no good a relay has of a stranger, everything else of it comes, at the start, live and
// after a restart, and none of them is asked for twice: what the store remembers never,
// and what this relay has forged once in a start.
func TestJunkCostsNobodyElse(t *testing.T) {
	for name, spoil := range junk {
		for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegClosed} {
			for _, n := range []int{500, 2000, 20_000} {
				if n > 2000 && (lives.Of(0, 1) == 0 || name != "other content" || neg != testkit.NegWorks) {
					continue // so many make the same way longer
				}
				t.Run(fmt.Sprint(name, " ", neg, " ", n), func(t *testing.T) {
					bubble(t, func(t *testing.T) { junkCostsNobodyElse(t, spoil.how, neg, n, spoil.asked) })
				})
			}
		}
	}
}

func junkCostsNobodyElse(t *testing.T, spoil func(*nostr.Event), neg testkit.NegMode, n, starts int) {
	w := newWorld(t, bootURL)
	w.doorway.Verifier = anySig{}
	boot := w.net.Relay(bootURL)
	boot.Neg = neg
	p := newProject("proj", 200)
	boot.Store(p.all()...)
	var bad []*nostr.Event
	for i := range n {
		bad = append(bad, spoilt(p, i, spoil))
	}
	boot.Store(bad...)
	complete := func(when string, dials int) {
		t.Helper()
		wait(5 * time.Minute)
		w.wantStored(p.all()...)
		e := p.later(when)
		boot.Add(e)
		wait(time.Second)
		w.wantStored(e)
		s, _ := w.status(bootURL)
		if s.Failures > 0 || boot.Dials() != dials || s.Confirmed != s.Want {
			t.Errorf("%s: dialed %d times: %+v", when, boot.Dials(), s)
		}
	}
	w.start()
	complete("at the start", 1)
	w.stop()
	w.start()
	complete("after a restart", 2)
	wait(25 * time.Hour)
	complete("after a full resync", 2)
	w.stop()
	var asked strings.Builder
	for _, f := range boot.Frames() {
		if strings.Contains(f, `{"ids":`) {
			asked.WriteString(f)
		}
	}
	most := 0
	for _, e := range bad[:100] {
		most = max(most, strings.Count(asked.String(), e.ID.String()))
	}
	if neg == testkit.NegWorks && most != starts {
		t.Errorf("junk was asked for %d times by its id", most)
	}
}

// spoilt returns an issue of a stranger that is no good.
func spoilt(p project, i int, spoil func(*nostr.Event)) *nostr.Event {
	e := &nostr.Event{
		PubKey: testkit.Key(66).PubKey(), CreatedAt: p.issues[i%len(p.issues)].CreatedAt + int64(i%7), Kind: nip34.KindIssue,
		Tags: nostr.Tags{{"a", p.address}}, Content: fmt.Sprint("junk ", i), Sig: nostr.Sig{1},
	}
	e.ID = e.ComputeID()
	spoil(e)
	return e
}

package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/slots"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// mostQuestions is what layer 4, mailboxes among it, may ask of one relay in a full resync, and what a visit costs beside.
const mostQuestions = 2000 + 100

// questions counts what a relay was asked: REQs, and reconciliations.
func questions(f *testkit.FakeRelay) (n int) {
	for _, frame := range f.Frames() {
		if strings.HasPrefix(frame, `["REQ"`) || strings.HasPrefix(frame, `["NEG-OPEN"`) {
			n++
		}
	}
	return n
}

// Two thousand people take part in a repository and write to relays of their own, all of them to one, and most of what they write there
// has nothing to do with git. What they wrote about the repository comes, nothing else does, and no relay is asked for more than a
// full resync may ask.
func TestMailboxesOfTwoThousandPeople(t *testing.T) {
	if testing.Short() {
		t.Skip("its world is large")
	}
	const people, relays, days = 2000, 40, 3
	bubble(t, func(t *testing.T, w *sim.World) {
		index, named, all := w.Fake("index.example.net"), w.Fake("named.example.net"), w.Fake("all.example.net")
		homes := make([]*testkit.FakeRelay, relays)
		for i := range homes {
			homes[i] = w.Fake(fmt.Sprintf("home%02d.example.net", i))
			if i%4 == 0 {
				homes[i].Neg = testkit.NegUnknown
			}
		}
		g := w.Graspd("a.example.org", sim.Options{Mailboxes: true, Index: []grasp.RelayURL{index.URL}})
		now := w.Unix()
		owner := testkit.Someone(1)
		repository := testkit.Mark(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "proj"}, nostr.Tag{"relays", string(g.URL), string(named.URL)})
		named.Store(repository)
		var issues []*nostr.Event
		for i := range 20 {
			issues = append(issues, testkit.Mark(owner, now+int64(i), nip34.KindIssue, fmt.Sprint(i), nostr.Tag{"a", repository.Address()}))
		}
		named.Store(issues...)
		write := func(i int, kind nostr.Kind, text string, tags ...nostr.Tag) *nostr.Event {
			return testkit.Mark(testkit.Someone(1000+i), w.Unix(), kind, text, tags...)
		}
		about := func(i int) nostr.Tag { return nostr.Tag{"E", issues[i%len(issues)].ID.String()} }
		var own, noise []*nostr.Event
		for i := range people {
			named.Store(write(i, nostr.KindComment, "here", about(i)))
			home := homes[i%relays]
			index.Store(write(i, nostr.KindRelayList, "", nostr.Tag{"r", string(home.URL)}, nostr.Tag{"r", string(all.URL), "write"}, nostr.Tag{"r", "wss://read.example.net", "read"}))
			said := write(i, nostr.KindComment, "there", about(i))
			own = append(own, said)
			home.Store(said)
			for j := range 2 {
				n := write(i, nostr.KindNote, fmt.Sprint("good morning ", j))
				noise = append(noise, n)
				home.Store(n)
				all.Store(n)
			}
			if i%10 == 0 {
				said := write(i, nostr.KindReaction, "+", nostr.Tag{"e", issues[i%len(issues)].ID.String()})
				own = append(own, said)
				all.Store(said)
			}
		}
		g.Start()
		if v := g.Publish(repository); !v.OK() {
			t.Fatal(v)
		}
		everybody := append([]*testkit.FakeRelay{index, named, all}, homes...)
		for day := range days {
			before := make([]int, len(everybody))
			for i, f := range everybody {
				before[i] = questions(f)
			}
			for range 25 {
				wait(time.Hour)
				visits := 0
				for _, s := range g.Engine().Relays(t.Context()) {
					if s.OnlyMailbox && s.Connected {
						visits++
					}
				}
				if visits > slots.PerMailbox {
					t.Errorf("day %d: %d mailboxes are asked at once", day, visits)
				}
			}
			for i, f := range everybody {
				if n := questions(f) - before[i]; n > mostQuestions {
					t.Errorf("day %d: %s is asked %d times", day, f.URL, n)
				}
			}
		}
		missing := 0
		for _, e := range own {
			if !g.Has(e) {
				missing++
			}
		}
		if missing > 0 {
			t.Errorf("%d of %d events that only mailboxes have did not come", missing, len(own))
		}
		for _, e := range noise {
			if g.Has(e) {
				t.Fatal("what has nothing to do with git is stored")
			}
		}
		for _, f := range append(homes, all) {
			if n := f.Dials(); n > days+2 {
				t.Errorf("%s is dialed %d times", f.URL, n)
			}
			if n := f.Sent(); n > 4*people {
				t.Errorf("%s has sent %d events", f.URL, n)
			}
		}
		t.Logf("questions: index %d, named %d, all %d, a home %d; events sent by all %d", questions(index), questions(named), questions(all), questions(homes[1]), all.Sent())
	})
}

package sim_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestOneRelayInManySpellings has one connection, and an announcement that names thousands leads to twenty.
func TestOneRelayInManySpellings(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		var spelled, thousands []grasp.RelayURL
		for _, u := range []string{
			"ws://named.example.net", "WS://Named.Example.NET/", "ws://named.example.net:80", "ws://named.example.net.", "ws://named.example.net//",
			"ws://named.example.net/#top", " ws://named.example.net ", "ws://me:secret@named.example.net", "ws://named.example.net:080/",
		} {
			spelled = append(spelled, grasp.RelayURL(u))
		}
		named := p.w.Fake("named.example.net")
		dialed := map[grasp.RelayURL]*testkit.FakeRelay{}
		for i := range 10_000 {
			u := grasp.RelayURL(fmt.Sprintf("ws://one-of-many-%d.example.net", i))
			if i < 200 {
				dialed[u] = p.w.Fakes.Relay(u)
			}
			thousands = append(thousands, u)
		}
		p.here.Start()
		now := p.w.Unix()
		for i, u := range spelled {
			p.here.Publish(p.by(i, now, "proj", []grasp.RelayURL{p.here.URL, u}))
		}
		p.here.Publish(p.by(50, now, "many", append([]grasp.RelayURL{p.here.URL}, thousands...)))
		wait(5 * time.Minute)
		n := 0
		for _, r := range dialed {
			n += min(1, r.Dials())
		}
		if all := len(states(t, p.here)); named.Dials() != 1 || n > 20 || all > 22 {
			t.Errorf("the one of many spellings was dialed %d times, %d of thousands; %d relays in all", named.Dials(), n, all)
		}
	})
}

// TestRepositoriesOfStrangeNames are mirrored with all that is said about them, and are not taken for each other.
func TestRepositoriesOfStrangeNames(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
		inPair(t, func(t *testing.T, p *pair) {
			p.relay.Neg = neg
			var all []*nostr.Event
			for i, d := range []string{":", "a:b:c", "../../etc/passwd", "a b", "🦀", "30617:x:y", `"quoted\`, "a", "a:", strings.Repeat("ü", 1000)} {
				x := p.project(d, 3, p.relay.URL)
				all = append(all, x.all()...)
				all = append(all, testkit.Mark(testkit.Someone(0), x.ann.CreatedAt+int64(i), nip34.KindState, "", nostr.Tag{"d", d}))
			}
			nobodys := testkit.Mark(testkit.Someone(1), p.w.Unix(), nip34.KindIssue, "", nostr.Tag{"a", all[0].Address() + ":"})
			p.relay.Store(append(all, nobodys)...)
			p.here.Start()
			settle(t, p.here, 10*time.Minute)
			p.here.WantStored(all...)
			p.here.WantAbsent(nobodys)
		})
	}
}

// TestARelayThatOnlyHarms is let go like one that fails, whatever it floods with, and nobody else notices.
func TestARelayThatOnlyHarms(t *testing.T) {
	note := func(n int) *nostr.Event {
		return testkit.Mark(testkit.Someone(9), 1_766_000_000, nostr.KindNote, fmt.Sprint("spam ", n))
	}
	for name, frame := range map[string]func(x project, sub string, n int) []byte{
		"for no subscription": func(_ project, _ string, n int) []byte {
			return nostr.AppendRelayEvent(nil, "never", note(n).AppendJSON(nil))
		},
		"that do not match": func(_ project, sub string, n int) []byte {
			return nostr.AppendRelayEvent(nil, sub, note(n).AppendJSON(nil))
		},
		"without a signature": func(x project, sub string, n int) []byte {
			return nostr.AppendRelayEvent(nil, sub, x.unsigned(n).AppendJSON(nil))
		},
		"of another id": func(x project, sub string, n int) []byte {
			return nostr.AppendRelayEvent(nil, sub, x.misnamed(n).AppendJSON(nil))
		},
		"that answer no request": func(_ project, _ string, n int) []byte {
			never := fmt.Sprint("never ", n)
			return [][]byte{nostr.AppendEOSE(nil, never), nostr.AppendClosed(nil, never, "error: no"), nostr.AppendNegErr(nil, never, "closed: no", 0)}[n%3]
		},
		"that end what has ended":     func(_ project, sub string, n int) []byte { return nostr.AppendEOSE(nil, sub) },
		"that notice what is no news": func(_ project, _ string, n int) []byte { return nostr.AppendNotice(nil, fmt.Sprint("hello ", n)) },
		"that challenge":              func(_ project, _ string, n int) []byte { return fmt.Appendf(nil, `["AUTH","%d"]`, n) },
		"that are no messages":        func(_ project, _ string, n int) []byte { return fmt.Appendf(nil, `["EVENT",%d]`, n) },
		"that are no JSON at all":     func(project, string, int) []byte { return []byte("\x00\xff") },
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				bad := p.w.Fake("bad.example.net")
				x := p.project("proj", 3, p.relay.URL, bad.URL)
				p.relay.Store(x.all()...)
				bad.Store(x.all()...)
				p.here.Start()
				settle(t, p.here, 10*time.Minute)
				events := len(p.here.Served())
				var floods sync.WaitGroup
				for i := range 8 {
					sub := lastLive(bad)
					floods.Go(func() {
						for n := range 1100 {
							bad.Send(frame(x, sub, 2000*i+n))
						}
					})
					wait(100 * time.Millisecond)
					e := x.issueAt(p.w.Unix(), fmt.Sprint("live ", i))
					p.relay.Add(e)
					wait(time.Second)
					p.here.WantStored(e)
					wait(time.Minute)
				}
				floods.Wait()
				if s := state(t, p.here, bad.URL); s.Failures < 3 || bad.Dials() < 3 || bad.Dials() > 7 {
					t.Errorf("%d connections, %+v", bad.Dials(), s)
				}
				if n := len(p.here.Served()) - events; n != 8 {
					t.Errorf("%d events more are served, not 8", n)
				}
				settle(t, p.here, 3*time.Hour) // it behaves again
			})
		})
	}
}

// unsigned is an issue that nobody has signed, misnamed one with an id that is not its own.
func (x project) unsigned(n int) *nostr.Event {
	e := *x.issueAt(x.ann.CreatedAt, fmt.Sprint("unsigned ", n))
	return &nostr.Event{ID: e.ID, PubKey: e.PubKey, CreatedAt: e.CreatedAt, Kind: e.Kind, Tags: e.Tags, Content: e.Content}
}

func (x project) misnamed(n int) *nostr.Event {
	e := x.issueAt(x.ann.CreatedAt, fmt.Sprint("misnamed ", n))
	return &nostr.Event{ID: nostr.ID{31: byte(n), 30: byte(n >> 8)}, PubKey: e.PubKey, CreatedAt: e.CreatedAt, Kind: e.Kind, Tags: e.Tags, Content: e.Content, Sig: e.Sig}
}

// lastLive is the id of the live subscription that a relay was sent last.
func lastLive(r *testkit.FakeRelay) (sub string) {
	for _, f := range r.Frames() {
		if m, err := nostr.ParseClient([]byte(f)); err == nil {
			if q, is := m.(nostr.Req); is && *q.Filters[0].Limit == 0 {
				sub = q.Sub
			}
		}
	}
	return sub
}

// TestWhatIsNotForRelaysToGive: protected and expired events, and what the author of a request to vanish wrote before it,
// stay away, and are not fetched day after day.
func TestWhatIsNotForRelaysToGive(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
		inPair(t, func(t *testing.T, p *pair) {
			p.relay.Neg = neg
			x := p.project("proj", 4, p.relay.URL)
			now := p.w.Unix()
			a := nostr.Tag{"a", x.ann.Address()}
			vanish := testkit.Mark(testkit.Someone(7), now-50, nostr.KindVanish, "", nostr.Tag{"relay", "ALL_RELAYS"})
			not := []*nostr.Event{
				testkit.Mark(testkit.Someone(1), now-60, nip34.KindIssue, "protected", a, nostr.Tag{"-"}),
				testkit.Mark(testkit.Someone(1), now-70, nip34.KindIssue, "expired", a, nostr.Tag{"expiration", fmt.Sprint(now - 30)}),
				testkit.Mark(testkit.Someone(7), now-80, nip34.KindIssue, "vanished", a),
			}
			after := testkit.Mark(testkit.Someone(7), now-20, nip34.KindIssue, "back", a)
			p.relay.Store(append(append(x.all(), not...), after)...)
			p.here.Start()
			p.here.Publish(x.ann)
			p.here.Publish(testkit.Mark(testkit.Someone(7), now-90, nip34.KindIssue, "here before", a))
			if v := p.here.Publish(vanish); !v.OK() {
				t.Fatal(v)
			}
			settle(t, p.here, 10*time.Minute)
			p.here.WantStored(append(x.all(), after)...)
			p.here.WantAbsent(not...)
			sent := p.relay.Deliveries()
			wait(27 * time.Hour)
			p.here.WantAbsent(not...)
			for _, e := range not {
				if n := p.relay.Deliveries()[e.ID] - sent[e.ID]; neg == testkit.NegWorks && n > 0 {
					t.Errorf("%q was fetched again %d times", e.Content, n)
				}
			}
		})
	}
}

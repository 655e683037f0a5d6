package main

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

var slow = flag.Bool("slow", false, "also catch up from odd relays that take up to a minute each")

// oddRelays are relays that a client easily takes for complete, or gives up, over a socket.
var oddRelays = map[string]func(f *testkit.FakeRelay, p *oddProject){
	"oldest first":   pages(testkit.Habits{Oldest: true}),
	"first come":     pages(testkit.Habits{First: true}),
	"any page":       pages(testkit.Habits{Any: true}),
	"exclusive ends": pages(testkit.Habits{Inside: true}),
	"hangs up": func(f *testkit.FakeRelay, p *oddProject) {
		p.slow, p.more = true, -70
		f.Neg, f.PageCap = testkit.NegNotice, 50
		f.Temper.Store(&testkit.Temper{Messages: 90})
	},
	"short messages": func(f *testkit.FakeRelay, _ *oddProject) {
		f.CloseOver, f.Info = 4096, &nip11.Document{Limitation: nip11.Limitation{MaxMessageLength: 4096}}
	},
	"short messages without a word": func(f *testkit.FakeRelay, p *oddProject) { f.CloseOver = 16384; p.slow, p.more = true, 250 },
	"an event of 5 MB": func(f *testkit.FakeRelay, p *oddProject) {
		p.slow, p.more = true, -110
		f.Store(testkit.Issue(testkit.Key(66), p.now-2000, p.address, strings.Repeat("x", 5<<20)))
	},
	"forged events": func(f *testkit.FakeRelay, p *oddProject) {
		for i := range 100 {
			e := testkit.Issue(testkit.Key(66), p.now-int64(i), p.address, fmt.Sprint("forged ", i))
			e.Content += "\x7f"
			f.Store(e)
		}
	},
	"withheld events": func(f *testkit.FakeRelay, p *oddProject) { f.Habits.Withheld, p.withheld = 30, 30 },
	"other limits each time": func(f *testkit.FakeRelay, p *oddProject) {
		p.drops = 1
		f.Refuse = func(sub string, filters []nostr.Filter) string {
			if f.Dials()%2 == 0 && len(filters) > 3 {
				return string(nostr.AppendClosed(nil, sub, "invalid: too many filters"))
			}
			return ""
		}
	},
	"no upper case": func(f *testkit.FakeRelay, _ *oddProject) {
		f.Neg = testkit.NegNotice
		f.Refuse = func(_ string, filters []nostr.Filter) string {
			for _, x := range filters {
				for _, t := range x.Tags {
					if t.Name >= 'A' && t.Name <= 'Z' {
						return string(nostr.AppendNotice(nil, "invalid: Invalid input"))
					}
				}
			}
			return ""
		}
	},
}

func pages(h testkit.Habits) func(*testkit.FakeRelay, *oddProject) {
	h.Neg, h.PageCap = testkit.NegNotice, 50
	return func(f *testkit.FakeRelay, _ *oddProject) { f.Habits = h }
}

// oddProject is what a relay has of one project.
type oddProject struct {
	now      int64
	address  string
	more     int  // root events beside the usual 130
	withheld int  // of 100 events that the relay never delivers
	slow     bool // connections are lost, and graspd waits before the next one
	drops    int  // how often the relay cuts the connection before it shows something new
}

// TestCatchesUpFromOddRelays: what such a relay has comes here, and what it gets afterwards does too.
func TestCatchesUpFromOddRelays(t *testing.T) {
	for name, prepare := range oddRelays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := testkit.Serve(t)
			p := &oddProject{now: time.Now().Unix() - 3600, address: testkit.RepositoryAddress(testkit.Key(1), "proj")}
			if prepare(source, p); p.slow && !*slow {
				t.Skip("waits between connections")
			}
			announced := testkit.Announcement(testkit.Key(1), p.now-9000, "proj", "wss://relay.example.org", string(source.URL))
			for int(announced.ID[31])%100 < p.withheld { // without it there is nothing to bring
				announced = testkit.Announcement(testkit.Key(1), announced.CreatedAt-1, "proj", "wss://relay.example.org", string(source.URL))
			}
			source.Store(announced)
			missing := map[nostr.ID]bool{}
			for i := range 130 + p.more {
				e := testkit.Issue(testkit.Key(2), p.now-int64(i*7919%8000), p.address, fmt.Sprint("issue ", i))
				source.Store(e)
				answer := testkit.Comment(testkit.Key(2), e.CreatedAt+1, e, "answer") // found by the id of e alone
				source.Store(answer)
				missing[e.ID] = int(e.ID[31])%100 >= p.withheld
				missing[answer.ID] = missing[e.ID] && int(answer.ID[31])%100 >= p.withheld
			}
			us := serve(t, "--data", t.TempDir(), "--domain", "relay.example.org", "--bootstrap", string(source.URL), "--sync-batch-window", "50ms")
			c := dial(t, us.url)
			c.send(nostr.AppendReq(nil, "sub", nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue, nostr.KindComment}}))
			c.awaitAll(missing)
			for range p.drops {
				source.Drop()
			}
			late := testkit.Issue(testkit.Key(3), time.Now().Unix(), p.address, "late")
			for int(late.ID[31])%100 < p.withheld {
				late = testkit.Issue(testkit.Key(3), late.CreatedAt-1, p.address, "late")
			}
			source.Add(late)
			c.awaitEvent(late)
		})
	}
}

// awaitAll reads until all events have come for which wanted says true.
func (c *client) awaitAll(wanted map[nostr.ID]bool) {
	c.t.Helper()
	n := 0
	for _, want := range wanted {
		if want {
			n++
		}
	}
	for n > 0 {
		if m, ok := c.next().(nostr.RelayEvent); ok && wanted[m.Event.ID] {
			delete(wanted, m.Event.ID)
			n--
		}
	}
}

// TestALargeEventIsNotFetchedAgain: what was refused for its size is not asked for again by the next start. A look behind a comparison asks
// for a page by time, in which it may be.
func TestALargeEventIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	source := testkit.Serve(t)
	now, address, dir := time.Now().Unix(), testkit.RepositoryAddress(testkit.Key(1), "proj"), t.TempDir()
	large := testkit.Issue(testkit.Key(2), now-50, address, strings.Repeat("x", 1<<20))
	source.Store(testkit.Announcement(testkit.Key(1), now-100, "proj", "wss://relay.example.org", string(source.URL)), large)
	var asked [2]int
	for i := range asked {
		us := serve(t, "--data", dir, "--domain", "relay.example.org", "--bootstrap", string(source.URL), "--sync-batch-window", "50ms")
		c := dial(t, us.url)
		c.send(nostr.AppendReq(nil, "sub", nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue}}))
		stored := testkit.Issue(testkit.Key(2), now-60+int64(i), address, fmt.Sprint("small ", i))
		source.Store(stored)
		if i > 0 {
			source.Drop()
		}
		late := testkit.Issue(testkit.Key(3), now+int64(i), address, "late")
		source.Add(late)
		c.awaitEvent(late)
		us.logs.await(t, `msg="(initial sync finished)"`) // so all of it is decided
		us.stop()
		for _, frame := range source.Frames() {
			if strings.Contains(frame, `"ids":[`) && strings.Contains(frame, large.ID.String()) {
				asked[i]++
			}
		}
	}
	if asked[0] == 0 || asked[1] != asked[0] {
		t.Errorf("it was asked for %d times, and then %d times", asked[0], asked[1]-asked[0])
	}
}

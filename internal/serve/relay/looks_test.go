package relay_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

const elsewhere = "198.51.100.2:1"

// longSearch is a search for words that stand at the end of a long text alone, and the text.
func longSearch() (search, text string) {
	for i := range 50 {
		search += fmt.Sprintf("w%02d ", i)
	}
	return search, strings.Repeat("w ", 50_000) + search
}

// TestSearchesOfNewEventsArePaidFor: whether a long text has many words is found out by the session that wants to know, and its address pays. Nobody
// else waits for that.
func TestSearchesOfNewEventsArePaidFor(t *testing.T) {
	inWorldAt(t, front.Rates{Requests: 10}, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c, honest := w.dialFrom(t, stranger), w.dialFrom(t, elsewhere)
		defer c.close()
		defer honest.close()
		honest.send(t, `["REQ","h",{"kinds":[1621],"limit":0}]`)
		honest.expect(t, `["EOSE","h"]`)
		search, text := longSearch()
		for i := range 3 {
			c.send(t, fmt.Sprintf(`["REQ","%d"%s]`, i, strings.Repeat(`,{"kinds":[1621],"search":"`+search+`w99","limit":0}`, 20)))
			c.expect(t, fmt.Sprintf(`["EOSE","%d"]`, i))
		}
		c.idle(t, time.Minute)
		start := time.Now()
		w.put(t, issue(start.Unix(), "", nostr.Tag{"subject", text}))
		if got := honest.read(t); !strings.HasPrefix(got, `["EVENT","h"`) || time.Since(start) > 0 {
			t.Errorf("after %v: %.100s", time.Since(start), got)
		}
		synctest.Wait() // until the session of the searches pays
		c.send(t, `["REQ","d",{"limit":0}]`)
		c.expect(t, `["EOSE","d"]`)
		if took := time.Since(start); took < 5*time.Second || took > time.Minute {
			t.Errorf("who searched waits %v", took)
		}
	})
}

// TestWhatSessionsFindOut: events that a session is to look at by itself come to the subscriptions that want them, and to no others.
func TestWhatSessionsFindOut(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dial(t)
		defer c.close()
		search, text := longSearch()
		c.send(t, `["REQ","last",{"kinds":[1621],"search":"`+search+`w99","limit":0}]`)
		c.expect(t, `["EOSE","last"]`)
		c.send(t, `["REQ","any",{"kinds":[1621],"search":"`+search+`w99","limit":0},{"kinds":[1621],"search":"`+search+`","limit":0}]`)
		c.expect(t, `["EOSE","any"]`)
		for i := range 20 {
			e := issue(time.Now().Unix(), fmt.Sprint("number ", i), nostr.Tag{"subject", text})
			w.put(t, e)
			if got := c.read(t); !strings.HasPrefix(got, `["EVENT","any",`) || !strings.Contains(got, e.ID.String()) {
				t.Fatalf("%d: %.100s", i, got)
			}
		}
		w.put(t, issue(time.Now().Unix(), "with the last word", nostr.Tag{"subject", text + " w99"}))
		all := c.read(t)[:15] + c.read(t)[:15]
		if !strings.Contains(all, `"last"`) || !strings.Contains(all, `"any"`) {
			t.Errorf("%s", all)
		}
		c.idle(t, time.Second)
	})
}

// TestWhatIsMuchWorkIsLeftToSessions: the dispatcher finds out by itself what takes little.
func TestWhatIsMuchWorkIsLeftToSessions(t *testing.T) {
	search, text := longSearch()
	e := event(1, 100, nip34.KindIssue, "", nostr.Tag{"t", "x"}, nostr.Tag{"subject", text})
	for i := range 1000 {
		e.Tags = append(e.Tags, nostr.Tag{"r", fmt.Sprint(2 * i)})
	}
	var odd []string
	for i := range 500 {
		odd = append(odd, fmt.Sprint(2*i+1))
	}
	tags := func(r ...string) []nostr.TagFilter {
		return []nostr.TagFilter{{Name: 'r', Values: r}, {Name: 't', Values: []string{"x"}}}
	}
	past := int64(99)
	for what, c := range map[string]struct {
		filter    nostr.Filter
		told      int
		undecided int
	}{
		"many words": {nostr.Filter{Search: search + "w99"}, 1, 1}, "one word": {nostr.Filter{Search: "w99"}, 1, 1},
		"many words of the past": {nostr.Filter{Search: search, Until: &past}, 0, 0},
		"many values":            {nostr.Filter{Tags: tags(odd...)}, 1, 1}, "few values": {nostr.Filter{Tags: tags(odd[:20]...)}, 0, 0},
		"a value that is there": {nostr.Filter{Tags: tags("4")}, 1, 0},
	} {
		m := relay.NewMatcher()
		m.Add(0, []nostr.Filter{c.filter})
		if told := m.Match(e)[0]; told != c.told || m.Undecided != c.undecided {
			t.Errorf("%s: %d, %d undecided", what, told, m.Undecided)
		}
	}
}

// TestFiltersThatAreLookedAtArePaidFor: a session with many filters that would all be looked at for each event looks at them itself, and its address
// pays for that. Who has few does not, and nobody misses an event.
func TestFiltersThatAreLookedAtArePaidFor(t *testing.T) {
	inWorldAt(t, front.Rates{Requests: 1}, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		many, few := w.dialFrom(t, stranger), w.dialFrom(t, elsewhere)
		defer many.close()
		defer few.close()
		for c, subs := range map[*client]int{many: 64, few: 3} {
			for i := range subs {
				filters := strings.Repeat(`,{"kinds":[1621],"until":0}`, 19)
				if i == subs-1 {
					filters += `,{"kinds":[1621]}`
				}
				c.send(t, fmt.Sprintf(`["REQ","%d"%s]`, i, filters))
				c.expect(t, fmt.Sprintf(`["EOSE","%d"]`, i))
			}
		}
		time.Sleep(time.Minute)
		start := time.Now()
		for i := range 1000 {
			e := issue(time.Now().Unix(), fmt.Sprint(i))
			w.put(t, e)
			for c, most := range map[*client]time.Duration{few: 0, many: time.Minute} {
				asked, sub := time.Now(), map[*client]string{few: "2", many: "63"}[c]
				if got := c.read(t); !strings.HasPrefix(got, `["EVENT","`+sub+`",`) || !strings.Contains(got, e.ID.String()) {
					t.Fatalf("%d: %.200s", i, got)
				}
				if took := time.Since(asked); took > most {
					t.Fatalf("%d: it took %v", i, took)
				}
			}
		}
		if took := time.Since(start); took < 10*time.Second {
			t.Errorf("1,000 events are compared with 1,216 filters within %v", took)
		}
	})
}

// TestWhoPaysForLooks: for each event 64 filters of a session are looked at for nothing, whoever else has more.
func TestWhoPaysForLooks(t *testing.T) {
	e := event(1, 100, nip34.KindIssue, "")
	past := nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue}, Until: new(int64)}
	m := relay.NewMatcher()
	for n, filters := range []int{1, 64, 65, 1000} {
		m.Add(n, slices.Repeat([]nostr.Filter{past}, filters))
	}
	for range 2 {
		m.Match(e)
		if slices.Sort(m.Paying); !slices.Equal(m.Paying, []int{2, 3}) {
			t.Errorf("%v pay", m.Paying)
		}
	}
}

// TestSessionsFindOutInTurns: sessions that have much to find out take turns, and nobody else waits for these.
func TestSessionsFindOutInTurns(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c, honest := w.dialFrom(t, stranger), w.dialFrom(t, elsewhere)
		defer c.close()
		defer honest.close()
		search, text := longSearch()
		c.send(t, `["REQ","c",{"kinds":[1621],"search":"`+search+`","limit":0}]`)
		c.expect(t, `["EOSE","c"]`)
		honest.send(t, `["REQ","h",{"kinds":[1621],"search":"w49","limit":0}]`)
		honest.expect(t, `["EOSE","h"]`)
		restore := w.relay.LeaveTurns(0)
		w.put(t, issue(time.Now().Unix(), "", nostr.Tag{"subject", text}))
		c.idle(t, time.Minute)
		w.put(t, issue(time.Now().Unix(), "short", nostr.Tag{"subject", "w49"}))
		restore()
		if got := c.read(t); !strings.HasPrefix(got, `["EVENT","c"`) {
			t.Errorf("%.100s", got)
		}
	})
}

// TestLongScansTakeTurns: a query that takes long waits for its turn, and one that takes little does not. Who closes theirs meanwhile is done with
// it, and who leaves meanwhile leaves nothing behind.
func TestLongScansTakeTurns(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		for i := range 200 {
			w.put(t, issue(int64(1000+i), "", nostr.Tag{"subject", fmt.Sprintf("word%03d", i)}))
		}
		long, leaves, short := w.dialFrom(t, stranger), w.dialFrom(t, stranger), w.dialFrom(t, elsewhere)
		defer long.close()
		defer short.close()
		restore := w.relay.LeaveTurns(0)
		for _, id := range []string{"a", "b"} {
			long.send(t, `["REQ","`+id+`",{"search":"word000"}]`)
		}
		leaves.send(t, `["REQ","l",{"search":"word000"}]`)
		long.idle(t, time.Second)
		for range 300 {
			short.send(t, `["REQ","s",{"kinds":[1621],"limit":1}]`)
			if got := short.read(t); !strings.HasPrefix(got, `["EVENT","s"`) {
				t.Errorf("%.100s", got)
			}
			short.expect(t, `["EOSE","s"]`)
		}
		long.send(t, `["CLOSE","a"]`)
		leaves.close()
		long.idle(t, time.Minute)
		restore()
		if got := long.read(t); !strings.HasPrefix(got, `["EVENT","b"`) {
			t.Errorf("%.100s", got)
		}
		long.expect(t, `["EOSE","b"]`)
	})
}

// TestATurnIsShort: who has had a turn for some time lets those go first who wait, and those who used less before all.
func TestATurnIsShort(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		for _, who := range []string{stranger, elsewhere} {
			c := w.dialFrom(t, who)
			defer c.close()
			c.send(t, `["REQ","a",{"limit":0}]`)
			c.expect(t, `["EOSE","a"]`)
		}
		defer w.relay.LeaveTurns(1)()
		var order []string
		var all sync.WaitGroup
		for _, who := range []string{stranger, stranger, elsewhere} {
			all.Go(func() {
				turn := w.relay.NewTurn(who)
				for range 3 {
					if err := turn.Work(t.Context()); err != nil {
						t.Error(err)
					}
					order = append(order, who)
					time.Sleep(relay.TurnTime)
				}
				turn.GiveBack()
			})
			synctest.Wait()
		}
		all.Wait()
		want := []string{stranger, elsewhere, stranger, elsewhere, stranger, elsewhere}
		if !slices.Equal(order[:len(want)], want) {
			t.Errorf("%q", order)
		}
	})
}

// TestHowManyWaitForTurns: of one address only some wait in line, and all have their turn in the end.
func TestHowManyWaitForTurns(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c := w.dialFrom(t, stranger)
		defer c.close()
		c.send(t, `["REQ","a",{"limit":0}]`)
		c.expect(t, `["EOSE","a"]`)
		restore := w.relay.LeaveTurns(0)
		var all sync.WaitGroup
		for range 3 * relay.MostTurnsOf {
			all.Go(func() {
				turn := w.relay.NewTurn(stranger)
				if err := turn.Work(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(relay.TurnTime)
				turn.GiveBack()
			})
		}
		time.Sleep(time.Minute)
		if _, waiting := w.relay.Turns(); waiting != relay.MostTurnsOf {
			t.Errorf("%d wait in line", waiting)
		}
		restore()
		all.Wait()
	})
}

// TestNobodyHasATurnWhileAClientReads: who is sent what a long query finds, and does not read it, holds up nobody.
func TestNobodyHasATurnWhileAClientReads(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		for i := range 200 {
			w.put(t, issue(int64(1000+i), fmt.Sprint(strings.Repeat("x", 5000), i), nostr.Tag{"subject", "word"}))
		}
		free, _ := w.relay.Turns()
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"search":"word"}]`)
		synctest.Wait()
		if left, _ := w.relay.Turns(); left != free {
			t.Errorf("%d of %d turns are free", left, free)
		}
	})
}

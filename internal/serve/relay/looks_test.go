package relay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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

// TestFiltersThatAreLookedAtArePaidFor: an address with many filters that are all looked at for each event pays for that, and is sent away where it owes
// too much.
func TestFiltersThatAreLookedAtArePaidFor(t *testing.T) {
	inWorldAt(t, front.Rates{Requests: 1}, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		many := w.dialFrom(t, stranger)
		defer many.close()
		for i := range 64 {
			many.send(t, fmt.Sprintf(`["REQ","%d"%s]`, i, strings.Repeat(`,{"kinds":[1621],"until":0}`, 20)))
			many.expect(t, fmt.Sprintf(`["EOSE","%d"]`, i))
		}
		time.Sleep(time.Minute)
		const why = `"error: rate-limited: each event is compared with too many of your filters; ask for less"]`
		gone := ""
		for i := 0; i < 1000 && gone == ""; i++ {
			w.put(t, issue(time.Now().Unix(), fmt.Sprint(i)))
			w.settle()
			select {
			case r := <-many.frames:
				gone = r.frame
			default:
			}
		}
		if !strings.HasSuffix(gone, why) {
			t.Errorf("it may have each event compared with 1,280 filters without an end: %q", gone)
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
		restore := w.relay.LeaveFinding(0)
		w.put(t, issue(time.Now().Unix(), "", nostr.Tag{"subject", text}))
		c.idle(t, time.Minute)
		w.put(t, issue(time.Now().Unix(), "short", nostr.Tag{"subject", "w49"}))
		restore()
		if got := c.read(t); !strings.HasPrefix(got, `["EVENT","c"`) {
			t.Errorf("%.100s", got)
		}
	})
}

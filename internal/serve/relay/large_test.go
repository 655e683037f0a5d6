package relay_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// state is a state of so many branches, 300 bytes each.
func state(n int, text string) *nostr.Event {
	tags := nostr.Tags{{"d", "d"}}
	for i := range n {
		tags = append(tags, nostr.Tag{fmt.Sprintf("refs/heads/%0242d", i), strings.Repeat("1", 40)})
	}
	return event(1, time.Now().Unix(), nip34.KindState, text, tags...)
}

// tagsFirst is an event as a client writes it who puts its tags before its kind.
func tagsFirst(e *nostr.Event) string {
	text := string(nostr.AppendEventMsg(nil, e))
	kind := fmt.Sprintf(`"kind":%d,`, e.Kind)
	return strings.TrimSuffix(strings.Replace(text, kind, "", 1), "}]") + "," + strings.TrimSuffix(kind, ",") + "}]"
}

// TestLargeStates: a state of 10,000 refs comes in and goes out, stored and live, wherever its kind stands in the message; no other
// kind may be as large, and neither is a state that is larger still.
func TestLargeStates(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c, live := w.dial(t), w.dialFrom(t, stranger)
		defer c.close()
		defer live.close()
		live.send(t, `["REQ","live",{"kinds":[30618]}]`)
		live.expect(t, `["EOSE","live"]`)
		for i, message := range []func(*nostr.Event) string{func(e *nostr.Event) string { return string(nostr.AppendEventMsg(nil, e)) }, tagsFirst} {
			e := state(10_000, fmt.Sprint(i))
			c.send(t, message(e))
			c.expect(t, string(nostr.AppendOK(nil, e.ID, true, "")))
			got := parse(t, live.read(t)).(nostr.RelayEvent)
			if got.Event.ID != e.ID || got.Event.CheckID() != nil {
				t.Error("another event came live")
			}
			time.Sleep(time.Second)
		}
		stored := w.dialFrom(t, stranger)
		defer stored.close()
		stored.send(t, `["REQ","s",{"authors":["`+key(1).String()+`"],"kinds":[30618]}]`)
		if got := parse(t, stored.read(t)).(nostr.RelayEvent); len(got.Event.Tags) != 10_001 || got.Event.CheckID() != nil {
			t.Errorf("the stored one has %d tags", len(got.Event.Tags))
		}
		stored.expect(t, `["EOSE","s"]`)
		if n := w.relay.LargeBytes() + w.relay.MessageBytes(); n != 0 {
			t.Errorf("%d bytes are held in the end", n)
		}
		large := issue(time.Now().Unix(), strings.Repeat("x", 300<<10))
		c.send(t, string(nostr.AppendEventMsg(nil, large)))
		c.expect(t, string(nostr.AppendOK(nil, large.ID, false, "invalid: message too large: at most 262144 bytes")))
		text := string(nostr.AppendEventMsg(nil, large))
		c.send(t, `["EVENT",{"content":`+text[strings.Index(text, `"content":`)+len(`"content":`):len(text)-2]+`,`+text[len(`["EVENT",{`):strings.Index(text, `,"content":`)]+"}]")
		c.expect(t, string(nostr.AppendOK(nil, large.ID, false, "invalid: event larger than 131072 bytes; shorten it")))
		c.send(t, `["REQ","a",{"limit":0}`+strings.Repeat(" ", 300<<10)+`]`)
		if got := c.read(t); !strings.HasPrefix(got, `["CLOSED","a","invalid: message too large`) {
			t.Errorf("a long REQ: %.100s", got)
		}
		larger := state(11_000, "")
		c.send(t, string(nostr.AppendEventMsg(nil, larger)))
		c.expect(t, string(nostr.AppendOK(nil, larger.ID, false, "invalid: event larger than 3145728 bytes; shorten it")))
		largest := state(16_000, "")
		c.send(t, string(nostr.AppendEventMsg(nil, largest)))
		c.expect(t, string(nostr.AppendOK(nil, largest.ID, false, "invalid: message too large: at most 262144 bytes")))
	})
}

// TestLargeEventsForSlowReaders: large events that are being sent have a bounded memory. Whoever gets none of it hears so: a
// subscription whose stored events are sent is closed, and so is the connection of one that would miss a live event.
func TestLargeEventsForSlowReaders(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement(), state(2000, "old"))
		var slow []*client
		for n := range 40 * 12 {
			c := w.dialIdleFrom(t, address(n%40))
			c.send(t, `["REQ","a",{"kinds":[30618]}]`)
			slow = append(slow, c)
		}
		synctest.Wait()
		if held := w.relay.LargeBytes(); held < 40<<20 || held > 64<<20 {
			t.Errorf("%d bytes are held for slow readers", held)
		}
		refused := 0
		for _, c := range slow {
			c.resume()
			for {
				frame, err := c.next(time.Second)
				if err != nil || strings.HasPrefix(frame, `["EOSE"`) {
					break
				}
				if frame == `["CLOSED","a","rate-limited: too many large events are being sent to your address; ask again"]` {
					refused++
					break
				}
			}
			c.conn.CloseNow()
		}
		if refused == 0 {
			t.Error("nobody was refused")
		}
		synctest.Wait()
		if held := w.relay.LargeBytes(); held != 0 {
			t.Errorf("%d bytes are held for nobody", held)
		}
		c := w.dialFrom(t, stranger)
		defer c.close()
		c.send(t, `["REQ","b",{"kinds":[30618],"limit":0}]`)
		c.expect(t, `["EOSE","b"]`)
		restore := w.relay.LeaveLargeBytes(1000)
		defer restore()
		w.put(t, state(2000, "new"))
		c.expect(t, `["CLOSED","b","error: rate-limited: too many large events at once are for your address; connect again"]`)
	})
}

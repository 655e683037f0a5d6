package relay_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestAnAnswerGoesOutTogether: the frames of one answer leave in few writes of 16 KiB, in their order, and the last of them at
// once; so do frames that are larger than that.
func TestAnAnswerGoesOutTogether(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		all := several(300, 300)
		all[100] = issue(all[100].CreatedAt, fmt.Sprintf("%050000d", 100))
		w.put(t, all...)
		c := w.dial(t)
		defer c.close()
		synctest.Wait()
		before, start := w.net.writes.Load(), time.Now()
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		size := 0
		for i := range all {
			want := string(nostr.AppendRelayEvent(nil, "a", all[len(all)-1-i].AppendJSON(nil)))
			c.expect(t, want)
			size += len(want)
		}
		c.expect(t, `["EOSE","a"]`)
		if took := time.Since(start); took != 0 {
			t.Errorf("something waited for %v", took)
		}
		if n, most := w.net.writes.Load()-before, int64(size/(15<<10)+6); n > most {
			t.Errorf("%d writes for %d bytes, want %d at most", n, size, most)
		}
	})
}

// TestALiveEventGoesOutAtOnce: nothing waits for more to come, be it an event, an OK or the end of an empty answer.
func TestALiveEventGoesOutAtOnce(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c, writer := w.dial(t), w.dial(t)
		defer c.close()
		defer writer.close()
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		c.expect(t, `["EOSE","a"]`)
		start := time.Now()
		for _, e := range several(3, 100) {
			writer.send(t, string(nostr.AppendEventMsg(nil, e)))
			writer.expect(t, string(nostr.AppendOK(nil, e.ID, true, "")))
			c.expect(t, string(nostr.AppendRelayEvent(nil, "a", e.AppendJSON(nil))))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestWhatIsFoundDoesNotWaitForTheRest: where the rest of an answer is put off, as the address has used up its share, what
// there is comes before.
func TestWhatIsFoundDoesNotWaitForTheRest(t *testing.T) {
	inWorldAt(t, front.Rates{Requests: 1}, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(30, 10)...)
		c := w.dialFrom(t, stranger)
		defer c.close()
		for n := 0; ; n++ {
			if n == 1000 {
				t.Fatal("nothing was ever put off")
			}
			start := time.Now()
			c.send(t, `["REQ","a",{"kinds":[1621],"#a":["`+repository()+`"]}]`)
			c.read(t)
			first := time.Since(start)
			for c.read(t) != `["EOSE","a"]` {
			}
			if time.Since(start) > 0 {
				if first > 0 {
					t.Errorf("the first event came after %v, the last after %v", first, time.Since(start))
				}
				break
			}
		}
	})
}

// TestAPingDoesNotWaitForWhatIsSent: a client that takes what is sent, but slowly, keeps its connection through the pings of
// both sides, though a pong takes more than a minute to get through.
func TestAPingDoesNotWaitForWhatIsSent(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(200, 2000)...)
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		c.resume()
		for n := 0; ; n++ {
			if c.read(t) == `["EOSE","a"]` {
				break
			}
			if n%10 == 0 {
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					c.conn.Ping(ctx)
				}()
			}
			time.Sleep(1300 * time.Millisecond)
		}
		c.send(t, `["REQ","a",{"limit":0}]`)
		c.expect(t, `["EOSE","a"]`)
	})
}

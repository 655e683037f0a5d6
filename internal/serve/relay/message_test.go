package relay_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// address is one of many IPv4 addresses.
func address(n int) string { return fmt.Sprintf("198.51.%d.%d:1", 101+n/200, 1+n%200) }

// TestHalfMessages: messages that never end have a bounded memory, of one address and of all. Those of others are read at once
// all the same: the oldest of the address that has most goes.
func TestHalfMessages(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		begun := strings.Repeat(" ", 200<<10)
		var first *raw
		for n := range 20 {
			for range 40 {
				one := w.dialRaw(t, address(n))
				if first == nil {
					first = one
				}
				go one.Write(half(begun, 1000))
			}
			synctest.Wait()
			if n == 0 && w.relay.MessageBytes() > 8<<20 {
				t.Errorf("one address has %d bytes", w.relay.MessageBytes())
			}
		}
		if held := w.relay.MessageBytes(); held > 64<<20 || held < 50<<20 {
			t.Errorf("%d bytes are held", held)
		}
		start := time.Now()
		c := w.dialFrom(t, stranger)
		defer c.close()
		if ok := c.publish(t, issue(time.Now().Unix(), strings.Repeat("x", 100_000))); !ok.OK {
			t.Errorf("a large event of somebody else: %+v", ok)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestTheLargestHolderOfMessagesGivesWay: whose oldest half message it is hears why it ends.
func TestTheLargestHolderOfMessagesGivesWay(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		large := w.dialRaw(t, address(0))
		large.Write(half(strings.Repeat(" ", 200<<10), 1000))
		synctest.Wait()
		restore := w.relay.LeaveMessageBytes(1000)
		c := w.dialFrom(t, stranger)
		defer c.close()
		c.send(t, `["REQ","a",{"limit":0}`+strings.Repeat(" ", 20_000)+`]`)
		if text, code := large.read(t); code != 1013 || !strings.HasPrefix(text, "rate-limited: most of the large messages") {
			t.Errorf("closed with %d %q", code, text)
		}
		large.Close()
		c.expect(t, `["EOSE","a"]`)
		restore()
	})
}

// TestNoMemoryForAMessage: who gets no memory for a message within its time hears that, and nothing is held for it.
func TestNoMemoryForAMessage(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		restore := w.relay.LeaveMessageBytes(1000)
		defer restore()
		c := w.dialRaw(t, stranger)
		c.Write(half(strings.Repeat(" ", 20_000), 1))
		start := time.Now()
		if text, code := c.read(t); code != 1013 || !strings.HasPrefix(text, "rate-limited: too many large messages") {
			t.Errorf("closed with %d %q", code, text)
		}
		if took := time.Since(start); took < 50*time.Second || took > 70*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

// TestAMessageHasAMinute: one that is not complete in a minute ends the connection, however it drips; one that is too large has
// a minute for each part of the size that is allowed.
func TestAMessageHasAMinute(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		const end = "too slow: a message has to be complete within a minute"
		for name, drip := range map[string][]byte{
			"bytes":           []byte(" "),
			"empty fragments": frame(false, opMore, ""),
		} {
			c := w.dialRaw(t, stranger)
			if name == "bytes" {
				c.Write(half("", 1000))
			} else {
				c.Write(frame(false, opText, ""))
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 80 {
					time.Sleep(time.Second)
					if _, err := c.Write(drip); err != nil {
						return
					}
				}
			}()
			start := time.Now()
			text, code := c.read(t)
			if took := time.Since(start); code != 1008 || text != end || took < 59*time.Second || took > 62*time.Second {
				t.Errorf("%s: closed with %d %q after %v", name, code, text, took)
			}
			c.Close()
			<-done
		}
		c := w.dialRaw(t, stranger)
		go func() {
			c.Write(half("", 1<<20))
			for range 4 {
				time.Sleep(25 * time.Second)
				c.Write([]byte(strings.Repeat(" ", 1<<18)))
			}
		}()
		if text, _ := c.read(t); text != `["NOTICE","invalid: message too large: at most 262144 bytes"]` {
			t.Errorf("a slow message that is too large: %q", text)
		}
	})
}

// TestTheRestOfALargeMessageHasAMinute: what is only skipped may not take for ever either.
func TestTheRestOfALargeMessageHasAMinute(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c := w.dialRaw(t, stranger)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Write(half(strings.Repeat(" ", 300<<10), 1<<20))
			for range 200 {
				time.Sleep(time.Second)
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
			}
		}()
		start := time.Now()
		text, code := c.read(t)
		if took := time.Since(start); code != 1008 || !strings.HasPrefix(text, "too slow: a message") || took < 59*time.Second || took > 62*time.Second {
			t.Errorf("closed with %d %q after %v", code, text, took)
		}
		c.Close()
		<-done
	})
}

// TestHugeMessages: a message that is too large is skipped up to many times the allowed size; beyond that the connection ends.
func TestHugeMessages(t *testing.T) {
	inWorld(t, relay.Limits{MessageBytes: 1000}, func(t *testing.T, w *world) {
		c := w.dialRaw(t, stranger)
		c.Write(frame(true, opText, strings.Repeat(" ", 63_000)))
		if text, _ := c.read(t); text != `["NOTICE","invalid: message too large: at most 1000 bytes"]` {
			t.Errorf("got %q", text)
		}
		go c.Write(frame(true, opText, strings.Repeat(" ", 65_000)))
		if text, code := c.read(t); code != 1009 {
			t.Errorf("closed with %d %q", code, text)
		}
	})
}

// TestBytesHaveAPace: whatever a connection carries is read no faster than the rate, on all connections of an address together. A frame without
// bytes, and a byte that comes alone, are no cheaper than 64 bytes.
func TestBytesHaveAPace(t *testing.T) {
	many := func(n int, f []byte) []byte { return []byte(strings.Repeat(string(f), n)) }
	for name, tt := range map[string]struct {
		f       []byte
		besides int // bytes that it counts for besides its own
	}{
		"too large messages": {frame(true, opText, strings.Repeat(" ", 1<<20)), 256 * 64},
		"fragments":          {append(append(frame(false, opText, ""), many(20_000, frame(false, opMore, ""))...), frame(true, opMore, "")...), 20_000 * 64},
		"fragments, after what looks like the header of an endless frame": {append(append(frame(false, opText, "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"),
			many(20_000, frame(false, opMore, ""))...), frame(true, opMore, "")...), 20_000 * 64},
	} {
		f := tt.f
		t.Run(name, func(t *testing.T) {
			inWorldAt(t, front.Rates{Bytes: 200_000, Requests: 1000}, relay.Limits{}, func(t *testing.T, w *world) {
				send := func(addr string) time.Duration {
					c := w.dialRaw(t, addr, f[:6]...)
					start := time.Now()
					for i := range 4 {
						c.Write(f[[4]int{6}[i]:])
						if text, _ := c.read(t); !strings.HasPrefix(text, `["NOTICE"`) {
							t.Fatalf("%.100q", text)
						}
					}
					return time.Since(start)
				}
				size := float64(4 * (len(f) + tt.besides))
				want := time.Duration((size - 2_000_000) / 200_000 * float64(time.Second))
				if took := send(stranger); took < want-time.Second || took > want+time.Second {
					t.Errorf("it took %v, want %v", took, want)
				}
				want = time.Duration(size / 200_000 * float64(time.Second))
				if took := send(stranger); took < want-time.Second || took > want+time.Second {
					t.Errorf("on another connection it took %v, want %v", took, want)
				}
				if took := send("127.0.0.1:1"); took > time.Second {
					t.Errorf("the operator's own took %v", took)
				}
			})
		})
	}
}

// TestLargeMessagesLeaveAProcessor: messages of more than a few KiB are parsed in turns, which leave half of the processors for everything else;
// small ones do not wait, and who leaves meanwhile leaves nothing behind.
func TestLargeMessagesLeaveAProcessor(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		large, leaves, small := w.dialFrom(t, stranger), w.dialFrom(t, "198.51.100.2:1"), w.dialFrom(t, "198.51.100.3:1")
		defer large.close()
		defer small.close()
		e := issue(time.Now().Unix(), strings.Repeat("x", 5000))
		for _, message := range []struct{ frame, answer string }{
			{`["REQ","a",{"limit":0,"#t":["` + strings.Repeat("x", 5000) + `"]}]`, `["EOSE","a"]`},
			{`["COUNT","a",{"#t":["` + strings.Repeat("x", 5000) + `"]}]`, `["COUNT","a",{"count":0}]`},
			{string(nostr.AppendEventMsg(nil, e)), string(nostr.AppendOK(nil, e.ID, true, ""))},
		} {
			release := w.relay.LeaveTurns(0)
			large.send(t, message.frame)
			leaves.send(t, `["REQ","a",{"limit":0,"#t":["`+strings.Repeat("x", 5000)+`"]}]`)
			large.idle(t, time.Second)
			small.send(t, `["REQ","a",{"limit":0}]`)
			small.expect(t, `["EOSE","a"]`)
			leaves.close()
			time.Sleep(time.Minute)
			release()
			large.expect(t, message.answer)
			leaves = w.dialFrom(t, "198.51.100.2:1")
		}
		leaves.close()
	})
}

// TestValuesArePaidFor: a filter of very many values counts as many requests.
func TestValuesArePaidFor(t *testing.T) {
	var values strings.Builder
	for list := range 20 {
		values.WriteString(`{"limit":0`)
		for _, name := range "bcdfg" {
			fmt.Fprintf(&values, `,"#%c":["%d"`, name, list)
			for v := range 399 {
				fmt.Fprintf(&values, `,"%d"`, v)
			}
			values.WriteString("]")
		}
		values.WriteString("},")
	}
	all := strings.TrimSuffix(values.String(), ",")
	inWorldAt(t, front.Rates{Requests: 10}, relay.Limits{}, func(t *testing.T, w *world) {
		for verb, answer := range map[string]string{"REQ": `["EOSE","a"]`, "COUNT": `["COUNT","a",{"count":0}]`} {
			c := w.dialFrom(t, stranger)
			start := time.Now()
			for range 10 {
				c.send(t, `["`+verb+`","a",`+all+`]`)
				c.expect(t, answer)
			}
			// 40,000 values are 40 requests, and the burst is of 100.
			if took := time.Since(start); took < 25*time.Second || took > 45*time.Second {
				t.Errorf("%s: it took %v", verb, took)
			}
			c.close()
			time.Sleep(time.Minute)
		}
	})
}

// TestValuesOfANegOpenArePaidFor: so do those of the filter of a set.
func TestValuesOfANegOpenArePaidFor(t *testing.T) {
	var values strings.Builder
	for _, name := range "bcdfghijklmnoqrstuvwxyzBCDFGHIJKLMNOQRSTUVWXYZ" {
		fmt.Fprintf(&values, `"#%c":["x"`, name)
		for v := range 399 {
			fmt.Fprintf(&values, `,"%d"`, v)
		}
		values.WriteString("],")
	}
	inWorldAt(t, front.Rates{Requests: 10}, relay.Limits{}, func(t *testing.T, w *world) {
		c := w.dialFrom(t, stranger)
		defer c.close()
		start := time.Now()
		for range 10 {
			c.send(t, `["NEG-OPEN","n",{`+strings.TrimSuffix(values.String(), ",")+`},"61"]`)
			c.expect(t, `["NEG-MSG","n","61"]`)
		}
		// 18,400 values are 18 requests, and the burst is of 100.
		if took := time.Since(start); took < 6*time.Second || took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestPings: pings are answered and count as requests, of all connections of an address together; a client that sends more than
// the rate hears why it is sent away. So does one that sends that many pongs.
func TestPings(t *testing.T) {
	for name, op := range map[string]byte{"ping": opPing, "pong": opPong} {
		t.Run(name, func(t *testing.T) {
			inWorldAt(t, front.Rates{Requests: 5}, relay.Limits{}, func(t *testing.T, w *world) {
				first, second := w.dialRaw(t, stranger), w.dialRaw(t, stranger)
				ping := func(c *raw, n int) {
					for range n {
						c.Write(frame(true, op, "x"))
						if op == opPing {
							if text, _ := c.read(t); text != "x" {
								t.Fatalf("got %q", text)
							}
						}
					}
					synctest.Wait()
				}
				ping(first, 49) // the burst, less one
				second.Write(frame(true, opText, `["REQ","a",{"limit":0}]`))
				if text, _ := second.read(t); text != `["EOSE","a"]` {
					t.Fatalf("got %q", text)
				}
				start := time.Now()
				second.Write(frame(true, opText, `["REQ","b",{"limit":0}]`))
				second.read(t)
				// A pong answers a ping of the relay.
				if waited := time.Since(start) >= 190*time.Millisecond; waited != (op == opPing) {
					t.Errorf("the next request took %v", time.Since(start))
				}
				time.Sleep(time.Minute)
				ping(first, 30)
				ping(second, 20)
				second.Write(frame(true, op, "x"))
				for {
					text, code := second.read(t)
					if code == 0 {
						continue // CLOSED
					}
					if code != 1008 || text != "rate-limited: too many pings from your address" {
						t.Errorf("closed with %d %q", code, text)
					}
					break
				}
			})
		})
	}
}

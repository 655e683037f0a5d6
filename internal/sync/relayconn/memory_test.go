package relayconn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// halves is a network of relays each of which sends the beginning of a message, so many bytes of many more, when it is connected to, and
// then nothing; and of relay.example, which sends what whole yields.
func halves(t *testing.T, count, size int, whole ...int) (*network, []grasp.RelayURL) {
	t.Helper()
	n := one(t, hijack(func(c net.Conn) {
		for _, size := range whole {
			writeMessage(c, size)
		}
		io.Copy(io.Discard, c)
	}))
	beginning := append(frameHeader(4<<20, 1), answer(size)...)
	half := hijack(func(c net.Conn) {
		c.Write(beginning)
		io.Copy(io.Discard, c)
	})
	urls := make([]grasp.RelayURL, count)
	for i := range urls {
		addr := fmt.Sprintf("2.2.%d.%d", i/250, i%250+1)
		n.hosts[addr+":80"], urls[i] = half, grasp.RelayURL("ws://"+addr)
	}
	return n, urls
}

func writeMessage(c net.Conn, size int) {
	c.Write(append(frameHeader(uint64(size), 1), answer(size)...))
}

// reading is a connection that is read until it ends.
type reading struct {
	conn *relayconn.Conn
	got  chan int // sizes of messages
	err  chan error
}

func read(t *testing.T, d *relayconn.Dialer, u grasp.RelayURL, party string) *reading {
	t.Helper()
	c, err := d.Dial(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	c.SetParty(party)
	c.ExpectLarge()
	r := &reading{c, make(chan int, 100), make(chan error, 1)}
	go func() {
		for {
			b, err := c.Read(context.Background())
			if err != nil && err != relayconn.ErrTooLong {
				r.err <- err
				return
			}
			r.got <- len(b)
		}
	}()
	t.Cleanup(func() { c.Close("test ends") })
	return r
}

func (r *reading) ended() error {
	select {
	case err := <-r.err:
		r.err <- err
		return err
	default:
		return nil
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestHundredsOfUnfinishedMessages holds what relays that never finish a message hold in memory together.
func TestHundredsOfUnfinishedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const relays = 300
		n, urls := halves(t, relays, 1<<20)
		c := n.config()
		c.Memory = 8 << 20
		d := relayconn.New(c)
		before := heap()
		for i, u := range urls {
			read(t, d, u, fmt.Sprint("owner ", i))
		}
		synctest.Wait()
		// 64 KiB of each, two or three times as much for the pipes of the test, and 8 MiB.
		if grew := int64(heap()) - int64(before); grew > relays*256<<10+8<<20 {
			t.Errorf("%d bytes more", grew)
		}
		if left := d.Left(); left < 0 || left > 8<<20/2 {
			t.Errorf("%d bytes are left", left)
		}
	})
}

// TestWhatIsSkippedHoldsNothing while the rest of it comes.
func TestWhatIsSkippedHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, urls := halves(t, 1, 1<<20)
		d := relayconn.New(n.config())
		c, err := d.Dial(t.Context(), urls[0])
		if err != nil {
			t.Fatal(err)
		}
		go c.Read(context.Background())
		synctest.Wait()
		if d.Left() != 64<<20 {
			t.Errorf("%d bytes left", d.Left())
		}
		c.Close("")
	})
}

// TestSmallMessagesAreAlwaysRead: whatever others hold, a relay's messages of up to 64 KiB come at once.
func TestSmallMessagesAreAlwaysRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, urls := halves(t, 100, 1<<20, 64<<10, 1, 64<<10)
		c := n.config()
		c.Memory = 4 << 20
		d := relayconn.New(c)
		for _, u := range urls {
			read(t, d, u, "")
		}
		synctest.Wait()
		start := time.Now()
		r := read(t, d, "ws://relay.example", "")
		for _, want := range []int{64 << 10, 1, 64 << 10} {
			if got := <-r.got; got != want {
				t.Errorf("read %d bytes, want %d", got, want)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

// TestEventsHaveAReserve: large messages leave a quarter to those that are no larger than an event may be.
func TestEventsHaveAReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, urls := halves(t, 30, 1<<20, 200<<10)
		c := n.config()
		c.Memory = 24 << 20
		d := relayconn.New(c)
		for _, u := range urls {
			read(t, d, u, "")
		}
		synctest.Wait()
		start := time.Now()
		r := read(t, d, "ws://relay.example", "")
		if got := <-r.got; got != 200<<10 || time.Since(start) != 0 {
			t.Errorf("read %d bytes after %v", got, time.Since(start))
		}
	})
}

// TestALargeMessageGetsItsRoom: room that messages that do not end have had for ten seconds is taken from them, as much as is needed.
func TestALargeMessageGetsItsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stuck = 20
		n, urls := halves(t, stuck, 1<<20, 2<<20)
		c := n.config()
		c.Memory = 16 << 20
		d := relayconn.New(c)
		var bad []*reading
		for _, u := range urls {
			bad = append(bad, read(t, d, u, ""))
		}
		synctest.Wait()
		time.Sleep(3 * time.Second)
		start := time.Now()
		r := read(t, d, "ws://relay.example", "")
		if got := <-r.got; got != 2<<20 || time.Since(start) != 7*time.Second {
			t.Errorf("read %d bytes after %v", got, time.Since(start))
		}
		synctest.Wait()
		lost := 0
		for i, b := range bad {
			if err := b.ended(); err != nil {
				lost++
				if !strings.Contains(err.Error(), "memory that others wait for") {
					t.Errorf("relay %d: %v", i, err)
				}
			}
		}
		if err := r.ended(); err != nil || lost < 2 || lost > stuck-5 {
			t.Errorf("%v, and %d connections were ended", err, lost)
		}
	})
}

// TestNobodyIsPressedWithoutNeed: a slow message lives while nobody waits for its room.
func TestNobodyIsPressedWithoutNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, urls := halves(t, 4, 1<<20, 2<<20)
		d := relayconn.New(n.config())
		var slow []*reading
		for _, u := range urls {
			slow = append(slow, read(t, d, u, ""))
		}
		time.Sleep(15 * time.Second)
		<-read(t, d, "ws://relay.example", "").got
		synctest.Wait()
		for i, s := range slow {
			if err := s.ended(); err != nil {
				t.Errorf("relay %d: %v", i, err)
			}
		}
	})
}

// TestAPartyHasAShare: the relays of one owner hold a quarter at most, and others wait for nothing.
func TestAPartyHasAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, urls := halves(t, 100, 1<<20, 2<<20)
		c := n.config()
		c.Memory = 16 << 20
		d := relayconn.New(c)
		slow := read(t, d, urls[0], "a third")
		for _, u := range urls[1:] {
			read(t, d, u, "one owner")
		}
		synctest.Wait()
		if held := d.Held("one owner"); held > 4<<20 || held < 3<<20 || d.Left() != 16<<20-held-d.Held("a third") {
			t.Errorf("one owner holds %d bytes", held)
		}
		start := time.Now()
		if got := <-read(t, d, "ws://relay.example", "another").got; got != 2<<20 || time.Since(start) != 0 {
			t.Errorf("read %d bytes after %v", got, time.Since(start))
		}
		time.Sleep(12 * time.Second)
		if err := slow.ended(); err != nil {
			t.Errorf("one of another owner is ended for those that wait for themselves: %v", err)
		}
	})
}

// TestAChangeOfAccount counts for the next message.
func TestAChangeOfAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, urls := halves(t, 3, 200<<10)
		d := relayconn.New(n.config())
		a := read(t, d, urls[0], "first")
		read(t, d, urls[1], "second")
		synctest.Wait()
		a.conn.SetParty("second")
		if first, second := d.Held("first"), d.Held("second"); first == 0 || first != second {
			t.Errorf("held %d and %d", first, second)
		}
		a.conn.Close("")
		synctest.Wait()
		if first, second := d.Held("first"), d.Held("second"); first != 0 || second == 0 {
			t.Errorf("then %d and %d", first, second)
		}
	})
}

// TestRoomIsGivenBack whatever a message comes to.
func TestRoomIsGivenBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*testing.T, *reading, context.CancelFunc)
	}{
		{"its connection is closed", func(_ *testing.T, r *reading, _ context.CancelFunc) { r.conn.Close("") }},
		{"it drips", func(*testing.T, *reading, context.CancelFunc) { time.Sleep(time.Minute) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, urls := halves(t, 40, 1<<20)
				c := n.config()
				c.Memory = 4 << 20
				d := relayconn.New(c)
				var all []*reading
				for _, u := range urls {
					all = append(all, read(t, d, u, ""))
				}
				synctest.Wait()
				if d.Left() == 4<<20 || d.Waiting() == 0 {
					t.Fatalf("%d bytes left, %d wait", d.Left(), d.Waiting())
				}
				for _, r := range all {
					tt.do(t, r, nil)
				}
				synctest.Wait()
				if d.Left() != 4<<20 || d.Waiting() != 0 || d.Parties() != 0 {
					t.Errorf("%d bytes left, %d wait, %d parties", d.Left(), d.Waiting(), d.Parties())
				}
			})
		})
	}
	t.Run("it is read, and the next is small", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n, _ := halves(t, 0, 0, 300<<10, 10, 600<<10, 700<<10, 10)
			d := relayconn.New(n.config())
			r := read(t, d, "ws://relay.example", "")
			for _, want := range []int{300 << 10, 10, 600 << 10, 0, 10} { // the second large one was not expected
				if got := <-r.got; got != want {
					t.Errorf("read %d bytes, want %d", got, want)
				}
			}
			synctest.Wait()
			if d.Left() != 64<<20 {
				t.Errorf("%d bytes left", d.Left())
			}
		})
	})
	t.Run("its reader has gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n, _ := halves(t, 0, 0, 300<<10)
			d := relayconn.New(n.config())
			c, err := d.Dial(t.Context(), "ws://relay.example")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(t.Context()); err != nil || d.Left() == 64<<20 {
				t.Errorf("%v, %d left", err, d.Left())
			}
			c.Close("")
			if d.Left() != 64<<20 {
				t.Errorf("%d bytes left", d.Left())
			}
		})
	})
	t.Run("its context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n, urls := halves(t, 1, 1<<20)
			cfg := n.config()
			cfg.Memory = 256 << 10
			d := relayconn.New(cfg)
			c, err := d.Dial(t.Context(), urls[0])
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.Read(ctx); !errors.Is(err, context.DeadlineExceeded) || d.Left() != 256<<10 || d.Waiting() != 0 {
				t.Errorf("%v, %d left, %d wait", err, d.Left(), d.Waiting())
			}
			c.Close("")
		})
	})
}

// TestADripEndsTheConnection: every 100 KiB of a message has twenty seconds.
func TestADripEndsTheConnection(t *testing.T) {
	for _, tt := range []struct {
		name  string
		size  int
		piece int // bytes a second
		want  time.Duration
		fails bool
	}{
		{"a byte a second", 1000, 1, 20 * time.Second, true},
		{"a large one, a little too slowly", 4 << 20, 4000, 20 * time.Second, true},
		{"a large one, fast enough", 500 << 10, 6000, 86 * time.Second, false},
		{"not kept, fast enough", 600 << 10, 6000, 103 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := one(t, hijack(func(c net.Conn) {
					c.Write(frameHeader(uint64(tt.size), 1))
					for left := tt.size; left > 0; left -= tt.piece {
						time.Sleep(time.Second)
						if _, err := c.Write(make([]byte, min(left, tt.piece))); err != nil {
							return
						}
					}
					io.Copy(io.Discard, c)
				}))
				c, err := relayconn.New(n.config()).Dial(t.Context(), "ws://relay.example")
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				_, err = c.Read(t.Context())
				if err == relayconn.ErrTooLong {
					err = nil
				}
				if took := time.Since(start); (err != nil) != tt.fails || took != tt.want {
					t.Errorf("after %v: %v", took, err)
				}
				if tt.fails && !strings.Contains(err.Error(), "too slowly") {
					t.Error(err)
				}
				c.Close("")
			})
		})
	}
}

// TestSilenceBetweenMessagesIsNoDrip, nor is the time that this side takes.
func TestSilenceBetweenMessagesIsNoDrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, hijack(func(c net.Conn) {
			writeMessage(c, 10)
			time.Sleep(time.Hour)
			writeMessage(c, 10)
			io.Copy(io.Discard, c)
		}))
		c, err := relayconn.New(n.config()).Dial(t.Context(), "ws://relay.example")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(time.Minute)
			if _, err := c.Read(t.Context()); err != nil {
				t.Error(err)
			}
		}
		c.Close("")
	})
}

// TestWaitingForRoomIsNoDrip: a message that waits for others' room has its time when it goes on.
func TestWaitingForRoomIsNoDrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, urls := halves(t, 1, 300<<10)
		n.hosts["3.3.3.3:80"] = hijack(func(c net.Conn) {
			writeMessage(c, 300<<10)
			io.Copy(io.Discard, c)
		})
		cfg := n.config()
		cfg.Memory, cfg.PartTime = 2000<<10, 4*time.Second
		d := relayconn.New(cfg)
		holder, err := d.Dial(t.Context(), "ws://3.3.3.3")
		if err != nil {
			t.Fatal(err)
		}
		holder.SetParty("same")
		if _, err := holder.Read(t.Context()); err != nil { // complete, and kept
			t.Fatal(err)
		}
		r := read(t, d, urls[0], "same")
		time.Sleep(15 * time.Second) // what is complete keeps its room
		if err := r.ended(); err != nil || d.Waiting() != 1 {
			t.Errorf("while it waited: %v", err)
		}
		holder.Close("")
		time.Sleep(3 * time.Second)
		if err := r.ended(); err != nil {
			t.Errorf("as it went on: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := r.ended(); err == nil || !strings.Contains(err.Error(), "too slowly") {
			t.Errorf("then: %v", err)
		}
	})
}

package relayconn_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/sync/relayconn"
)

// open connects to a relay that serves the one connection with f.
func open(t *testing.T, f func(*websocket.Conn)) *relayconn.Conn {
	t.Helper()
	c, err := relayconn.New(one(t, websocketTo(f)).config()).Dial(t.Context(), "ws://relay.example")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close("test ends") })
	return c
}

// hijack shakes hands over HTTP and gives the bare connection to f, which may break every rule from there on.
func hijack(f func(net.Conn)) func(net.Conn) {
	return serve(func(w http.ResponseWriter, r *http.Request) {
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-WebSocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		f(c)
	})
}

// frameHeader is the header of an unmasked final frame with a 64-bit length.
func frameHeader(size uint64, opcode byte) []byte {
	return binary.BigEndian.AppendUint64([]byte{0x80 | opcode, 127}, size)
}

func TestReadGivesTextAndSkipsBinary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := bytes.Repeat([]byte("b"), 1<<20)
		c := open(t, func(c *websocket.Conn) {
			c.Write(context.Background(), websocket.MessageBinary, big)
			c.Write(context.Background(), websocket.MessageText, []byte("one"))
			c.Write(context.Background(), websocket.MessageBinary, nil)
			c.Write(context.Background(), websocket.MessageText, []byte("two"))
			echo(c)
		})
		for i, want := range []string{"", "one", "", "two"} {
			b, err := c.Read(t.Context())
			if want == "" && (err != relayconn.ErrBinary || b != nil) || want != "" && (err != nil || string(b) != want) {
				t.Errorf("message %d: %q, %v", i, b, err)
			}
		}
		if err := c.Close("bye"); err != nil {
			t.Error(err)
		}
	})
}

func TestReadLimit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   websocket.MessageType
		size   int
		expect int // large messages
		want   error
		ends   bool
	}{
		{"what may come unasked", websocket.MessageText, 512 << 10, 0, nil, false},
		{"a byte more", websocket.MessageText, 512<<10 + 1, 0, relayconn.ErrTooLong, false},
		{"a byte more, expected", websocket.MessageText, 512<<10 + 1, 1, nil, false},
		{"4 MiB", websocket.MessageText, 4 << 20, 1, nil, false},
		{"4 MiB, not expected", websocket.MessageText, 4 << 20, 0, relayconn.ErrTooLong, false},
		{"past 4 MiB", websocket.MessageText, 4<<20 + 1, 1, websocket.ErrMessageTooBig, true},
		{"past 4 MiB, not expected", websocket.MessageText, 4<<20 + 1, 0, websocket.ErrMessageTooBig, true},
		{"past 4 MiB, binary", websocket.MessageBinary, 4<<20 + 1, 0, websocket.ErrMessageTooBig, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := open(t, func(c *websocket.Conn) {
					c.Write(context.Background(), tt.kind, answer(tt.size))
					if !tt.ends {
						c.Write(context.Background(), websocket.MessageText, []byte("next"))
					}
					echo(c)
				})
				for range tt.expect {
					c.ExpectLarge()
				}
				b, err := c.Read(t.Context())
				if !errors.Is(err, tt.want) || tt.want == nil && len(b) != tt.size {
					t.Errorf("read %d bytes, %v", len(b), err)
				}
				b, err = c.Read(t.Context())
				if tt.ends && (err == nil || err == relayconn.ErrBinary || err == relayconn.ErrTooLong) || !tt.ends && string(b) != "next" {
					t.Errorf("the next read: %.10q, %v", b, err)
				}
			})
		})
	}
}

// answer is the beginning of a message of a reconciliation.
func answer(size int) []byte {
	b := make([]byte, size)
	copy(b, `["NEG-MSG","`)
	return b
}

// TestOnlyAnswersOfAReconciliationMayBeLong: a relay whose answers were short may send nothing else that is long for it.
func TestOnlyAnswersOfAReconciliationMayBeLong(t *testing.T) {
	for beginning, may := range map[string]bool{
		`["NEG-MSG","`: true, `["NEG-ERR","`: true, " [\r\n\t \"NEG-MSG\"": true,
		`["EOSE","`: false, `["EVENTS"`: false, `["NOTICE","`: false, `[["NEG-MSG","`: false, `"NEG-MSG`: false, `x["NEG-MSG"`: false, `{"NEG-`: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := open(t, func(c *websocket.Conn) {
				c.Write(context.Background(), websocket.MessageText, append([]byte(beginning), make([]byte, 600<<10)...))
				c.Write(context.Background(), websocket.MessageText, answer(600<<10))
				echo(c)
			})
			c.ExpectLarge()
			want, next := relayconn.ErrTooLong, error(nil)
			if may {
				want, next = next, want
			}
			if _, err := c.Read(t.Context()); err != want {
				t.Errorf("%q: %v, want %v", beginning, err, want)
			}
			if _, err := c.Read(t.Context()); err != next {
				t.Errorf("an answer after %q: %v, want %v", beginning, err, next)
			}
		})
	}
}

// TestLongEvents: an event is read beyond what else may come unasked, up to what any message may have.
func TestLongEvents(t *testing.T) {
	for beginning, may := range map[string]bool{
		`["EVENT","s",{"id":"x","kind":30618,"tags":[["`: true, `["EVENT","s",{"kind":30618, "tags":[["`: true,
		`["EVENT","s",{"id":"x","kind":30617,"tags":[["`: true, " [\n\"EVENT\",\"s\",{\"tags\":[[": true, `["EOSE","s",{"kind":30618,"`: false,
		`{"EVENT","s"`: false, `["NOTICE","EVENT`: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			message := []byte(beginning + strings.Repeat("x", 3<<20))
			c := open(t, func(c *websocket.Conn) {
				c.Write(context.Background(), websocket.MessageText, message)
				c.Write(context.Background(), websocket.MessageText, []byte("next"))
				echo(c)
			})
			want := error(nil)
			if !may {
				want = relayconn.ErrTooLong
			}
			if b, err := c.Read(t.Context()); err != want || may && string(b) != string(message) {
				t.Errorf("%q: %d bytes, %v, want %v", beginning, len(b), err, want)
			}
			if b, err := c.Read(t.Context()); err != nil || string(b) != "next" {
				t.Errorf("after %q: %q, %v", beginning, b, err)
			}
		})
	}
}

// TestLargeMessagesAreExpected counts them: each ExpectLarge stands for one, and never for more than four at a time.
func TestLargeMessagesAreExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, func(c *websocket.Conn) {
			for range 8 {
				c.Write(context.Background(), websocket.MessageText, answer(600<<10))
			}
			echo(c)
		})
		for range 6 {
			c.ExpectLarge()
		}
		for i := range 8 {
			if i == 5 {
				c.ExpectLarge()
			}
			want := relayconn.ErrTooLong
			if i < 4 || i == 5 {
				want = nil
			}
			if _, err := c.Read(t.Context()); err != want {
				t.Errorf("message %d: %v, want %v", i, err, want)
			}
		}
	})
}

func TestAClaimedSizeAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, hijack(func(c net.Conn) {
			c.Write(frameHeader(1<<62, 1))
			c.Write([]byte("abc"))
			time.Sleep(time.Second)
			c.Close()
		}))
		c, err := relayconn.New(n.config()).Dial(t.Context(), "ws://relay.example")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := c.Read(t.Context()); err == nil {
			t.Errorf("read %d bytes", len(b))
		}
		c.Close("")
	})
}

func TestReadEndsWithAGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, func(c *websocket.Conn) { c.Close(websocket.StatusTryAgainLater, "slow\x1b[2J down") })
		_, err := c.Read(t.Context())
		if e, ok := errors.AsType[*relayconn.ClosedError](err); !ok || e.Code != 1013 || e.Reason != `slow\x1b[2J down` {
			t.Errorf("got %v", err)
		}
		if err := c.Close("late"); err != nil {
			t.Errorf("closing what the relay has closed: %v", err)
		}
	})
}

func TestReadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, echo)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if _, err := c.Read(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestWriteToAStalledRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		c := open(t, func(*websocket.Conn) { <-gone })
		start := time.Now()
		if err := c.Write(t.Context(), make([]byte, 1<<20)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("took %v", took)
		}
		if err := c.Write(t.Context(), []byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the next write: %v", err)
		}
		close(gone)
	})
}

func TestAPingDuringASlowWriteHarmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, hijack(func(c net.Conn) {
			time.Sleep(time.Second)
			c.Write([]byte{0x89, 1, 'p'})
			time.Sleep(15 * time.Second)
			c.Write([]byte{0x81, 2, 'h', 'i'})
			io.Copy(io.Discard, c)
		}))
		c, err := relayconn.New(n.config()).Dial(t.Context(), "ws://relay.example")
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() { written <- c.Write(context.Background(), make([]byte, 1<<20)) }()
		if b, err := c.Read(t.Context()); string(b) != "hi" {
			t.Errorf("read %q, %v", b, err)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
		c.Close("")
	})
}

func TestAPongThatCannotBeSentEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, hijack(func(c net.Conn) {
			ping := append([]byte{0x89, 100}, make([]byte, 100)...)
			for _, err := c.Write(ping); err == nil; _, err = c.Write(ping) {
			}
		}))
		c, err := relayconn.New(n.config()).Dial(t.Context(), "ws://relay.example")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := c.Read(t.Context()); err == nil || time.Since(start) > 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		c.Close("")
	})
}

func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := make(chan struct{})
		c := open(t, func(c *websocket.Conn) {
			<-deaf
			echo(c)
		})
		go c.Read(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := c.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ping to a relay that does not read: %v", err)
		}
		close(deaf)
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("ping after one without an answer: %v", err)
		}
		c.Close("")
		if err := c.Ping(t.Context()); err == nil {
			t.Error("a closed connection was pinged")
		}
	})
}

func TestCloseSaysWhy(t *testing.T) {
	for _, tt := range []struct{ name, reason, want string }{
		{"plain", "nothing wanted here", "nothing wanted here"},
		{"empty", "", ""},
		{"123 bytes", strings.Repeat("x", 123), strings.Repeat("x", 123)},
		{"long", strings.Repeat("é", 100), strings.Repeat("é", 61)},
		{"invalid UTF-8", "a\xffb", "a?b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard := make(chan error, 1)
				c := open(t, func(c *websocket.Conn) {
					_, _, err := c.Read(context.Background())
					heard <- err
				})
				if err := c.Close(tt.reason); err != nil {
					t.Error(err)
				}
				got, ok := errors.AsType[websocket.CloseError](<-heard)
				if !ok || got.Code != websocket.StatusNormalClosure || got.Reason != tt.want {
					t.Errorf("the relay heard %d %q", got.Code, got.Reason)
				}
			})
		})
	}
}

func TestCloseNeverHangs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		relay func(net.Conn)
	}{
		{"silent, not reading", func(c net.Conn) { time.Sleep(time.Hour) }},
		{"silent, reading", func(c net.Conn) { io.Copy(io.Discard, c) }},
		{"in the middle of a frame", func(c net.Conn) {
			c.Write(frameHeader(1<<40, 1))
			io.Copy(io.Discard, c)
		}},
		{"dripping a frame", func(c net.Conn) {
			for _, err := c.Write(frameHeader(1<<40, 1)); err == nil; _, err = c.Write([]byte("x")) {
				time.Sleep(100 * time.Millisecond)
			}
		}},
		{"flooding with frames", func(c net.Conn) {
			f := append(frameHeader(1000, 1), make([]byte, 1000)...)
			for _, err := c.Write(f); err == nil; _, err = c.Write(f) {
				time.Sleep(time.Millisecond)
			}
		}},
		{"flooding with pings, not reading", func(c net.Conn) {
			f := append([]byte{0x89, 100}, make([]byte, 100)...)
			for _, err := c.Write(f); err == nil; _, err = c.Write(f) {
				time.Sleep(time.Millisecond)
			}
		}},
		{"hung up", func(c net.Conn) { c.Close() }},
	} {
		for _, with := range []string{"nothing", "a read", "a write that stalls", "a read and a write"} {
			t.Run(tt.name+", with "+with, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, err := relayconn.New(one(t, hijack(tt.relay)).config()).Dial(t.Context(), "ws://relay.example")
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(with, "read") {
						go func() {
							for {
								if _, err := c.Read(context.Background()); err != nil {
									return
								}
							}
						}()
					}
					if strings.Contains(with, "write") {
						go c.Write(context.Background(), make([]byte, 1<<20))
					}
					time.Sleep(time.Second)
					start := time.Now()
					c.Close("enough")
					if took := time.Since(start); took > 2*time.Second {
						t.Errorf("took %v", took)
					}
					if err := c.Close("again"); err != nil {
						t.Errorf("closed twice: %v", err)
					}
				})
			})
		}
	}
}

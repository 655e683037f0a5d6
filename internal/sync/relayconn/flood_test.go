package relayconn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/sync/relayconn"
)

// frame is an unmasked frame with a payload below 64 KiB.
func frame(first byte, payload string) []byte {
	if len(payload) < 126 {
		return append([]byte{first, byte(len(payload))}, payload...)
	}
	return append([]byte{first, 126, byte(len(payload) >> 8), byte(len(payload))}, payload...)
}

const (
	final              = 0x80
	opMore, opText     = 0, 1
	opClose            = 8
	opPing, opPong     = 9, 10
	beginText, endText = opText, final | opMore
)

// readAll reads until the connection ends, and returns how many messages came and why it ended.
func readAll(t *testing.T, relay func(net.Conn)) (messages int, err error) {
	t.Helper()
	c, err := relayconn.New(one(t, hijack(func(c net.Conn) {
		go io.Copy(io.Discard, c)
		relay(c)
	})).config()).Dial(t.Context(), "ws://relay.example")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close("test ends")
	for {
		_, err := c.Read(context.Background())
		if err != nil && !errors.Is(err, relayconn.ErrBinary) && !errors.Is(err, relayconn.ErrTooLong) {
			return messages, err
		}
		messages++
	}
}

// TestAFlood: frames that bring nothing end the connection, whatever their kind, after some thousands.
func TestAFlood(t *testing.T) {
	for name, tt := range map[string]struct {
		before []byte
		again  []byte
		pieces int // bytes in one write
		most   int // frames, or pieces, that are read
	}{
		"pings":                             {nil, frame(final|opPing, ""), 1 << 20, 2100},
		"pings with text":                   {nil, frame(final|opPing, strings.Repeat("x", 125)), 1 << 20, 2100},
		"pongs":                             {nil, frame(final|opPong, "x"), 1 << 20, 2200},
		"pings and pongs":                   {nil, append(frame(final|opPong, ""), frame(final|opPing, "")...), 1 << 20, 2100},
		"empty fragments":                   {frame(beginText, ""), frame(opMore, ""), 1 << 20, 2100},
		"empty fragments of binary":         {frame(2, ""), frame(opMore, ""), 1 << 20, 2100},
		"tiny fragments":                    {frame(beginText, ""), frame(opMore, "x"), 1 << 20, 2200},
		"pings within a message":            {frame(beginText, "["), frame(final|opPing, ""), 1 << 20, 2100},
		"empty fragments and pings":         {frame(beginText, ""), append(frame(opMore, ""), frame(final|opPing, "")...), 1 << 20, 2100},
		"a message byte by byte":            {[]byte{final | opText, 127, 0, 0, 0, 0, 0, 0x10, 0, 0}, []byte("x"), 1, 2200},
		"pings byte by byte":                {nil, frame(final|opPing, ""), 1, 1100},
		"after a million bytes of messages": {bytes.Repeat(frame(final|opText, strings.Repeat("x", 10_000)), 100), frame(final|opPing, ""), 1 << 20, 2200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var sent atomic.Int64
				_, err := readAll(t, func(c net.Conn) {
					c.Write(tt.before)
					for {
						n := min(len(tt.again), tt.pieces)
						for rest := tt.again; len(rest) > 0; rest = rest[min(len(rest), n):] {
							if _, err := c.Write(rest[:min(len(rest), n)]); err != nil {
								return
							}
							if n == 1 {
								synctest.Wait()
							}
						}
						sent.Add(1)
					}
				})
				if !errors.Is(err, relayconn.ErrFlood) {
					t.Errorf("the connection ended with %v", err)
				}
				// The frames that had gone into the buffers of the connection count as sent.
				if most := tt.most + (72<<10)/len(tt.again); sent.Load() > int64(most) {
					t.Errorf("%d frames in %v, at most %d", sent.Load(), time.Since(start), most)
				}
			})
		})
	}
}

// TestNoFlood: what relays do, and what large messages in pieces need, is no flood, for as long as it goes on.
func TestNoFlood(t *testing.T) {
	fragments := func(size, each int) []byte {
		b := frame(beginText, "")
		for range size / each {
			b = append(b, frame(opMore, strings.Repeat("x", each))...)
		}
		return append(b, frame(endText, "")...)
	}
	for name, tt := range map[string]struct {
		again    []byte
		times    int
		wait     time.Duration
		messages int
	}{
		"a ping each second for a day":               {frame(final|opPing, "x"), 86_400, time.Second, 0},
		"a pong with each message":                   {append(frame(final|opText, "[]"), frame(final|opPong, "")...), 50_000, 0, 50_000},
		"the smallest messages":                      {frame(final|opText, ""), 200_000, 0, 200_000},
		"messages of half a MiB in frames of 1 KiB":  {fragments(500<<10, 1<<10), 20, 0, 20},
		"messages of 2 KiB in frames of 128 bytes":   {fragments(2<<10, 128), 2000, 0, 2000},
		"messages with an empty frame at the end":    {append(frame(beginText, "[]"), frame(endText, "")...), 50_000, 0, 50_000},
		"binary messages, which are counted by whom": {frame(final|2, "x"), 50_000, 0, 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				messages, err := readAll(t, func(c net.Conn) {
					for range tt.times {
						c.Write(tt.again)
						time.Sleep(tt.wait)
					}
					c.Write(frame(final|opClose, "\x03\xe8done"))
				})
				if e, ok := errors.AsType[*relayconn.ClosedError](err); !ok || e.Reason != "done" {
					t.Errorf("the connection ended with %v", err)
				}
				if messages != tt.messages {
					t.Errorf("%d messages, want %d", messages, tt.messages)
				}
			})
		})
	}
}

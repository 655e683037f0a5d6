package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// errTurnedAway is why a stranger has no connection.
var errTurnedAway = errors.New("turned away")

// stranger is one connection of an attacker. It is nearer to the wire than the honest clients, so that very many cost little
// and frames may be such as no library makes.
type stranger struct {
	net.Conn
	r     *bufio.Reader
	tally *tally
}

// open connects from an address, of which the relay hears from the proxy where it is no IPv4 address.
func open(ctx context.Context, url string, from netip.Addr, t *tally) (*stranger, error) {
	here, forwarded := from, ""
	if from.Is6() {
		here, forwarded = proxy, "X-Forwarded-For: "+from.String()+"\r\n"
	}
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(here, 0)), Timeout: 10 * time.Second}
	host := strings.TrimPrefix(url, "ws://")
	c, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		t.turnedAway.Add(1)
		return nil, fmt.Errorf("%w: %w", errTurnedAway, err)
	}
	s := &stranger{Conn: c, r: bufio.NewReader(c), tally: t}
	if err := s.upgrade(host, forwarded); err != nil {
		c.Close()
		t.turnedAway.Add(1)
		return nil, fmt.Errorf("%w: %w", errTurnedAway, err)
	}
	t.opened.Add(1)
	return s, nil
}

// upgrade makes it a WebSocket, within some seconds.
func (s *stranger) upgrade(host, more string) error {
	if err := s.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s, "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n", host, more)
	if err != nil {
		return err
	}
	a, err := http.ReadResponse(s.r, nil)
	if err != nil {
		return err
	}
	if a.StatusCode != http.StatusSwitchingProtocols {
		return errors.New(a.Status)
	}
	return s.SetDeadline(time.Time{})
}

// send writes bytes that hold so many messages, and reports whether they are on their way.
func (s *stranger) send(messages int, b []byte) bool {
	n, err := s.Write(b)
	s.tally.sent.Add(int64(n))
	if err == nil {
		s.tally.messages.Add(int64(messages))
	}
	return err == nil
}

// read counts what comes until the connection ends. It waits that long after each frame.
func (s *stranger) read(ctx context.Context, pause time.Duration) {
	beginning := make([]byte, 256)
	for {
		op, begun, n, err := nextFrame(s.r, beginning)
		if err != nil {
			break
		}
		s.tally.frames.Add(1)
		s.tally.got.Add(int64(n))
		if op == opText && refuses(begun) {
			s.tally.refused(begun)
		}
		if pause > 0 && sleep(ctx, pause) != nil {
			break
		}
	}
	if ctx.Err() == nil {
		s.tally.cut.Add(1)
	}
}

// refuses says whether a message of a relay, of which that is the beginning, says no.
func refuses(begun []byte) bool {
	for _, verb := range []string{`["CLOSED"`, `["NEG-ERR"`, `["NOTICE"`} {
		if bytes.HasPrefix(begun, []byte(verb)) {
			return true
		}
	}
	return bytes.HasPrefix(begun, []byte(`["OK"`)) && bytes.Contains(begun, []byte(",false,"))
}

// crowd runs act on n connections of each address until ctx ends, and has what the relay answers read beside it. A connection
// that ends is made again a second later, and so is one on which act has given up by saying false.
func crowd(ctx context.Context, s *scene, from []netip.Addr, n int, act func(ctx context.Context, c *stranger, number int) bool) error {
	var all sync.WaitGroup
	for i := range n * len(from) {
		all.Go(func() {
			for ctx.Err() == nil {
				c, err := open(ctx, s.url, from[i%len(from)], &s.got)
				if err == nil {
					c.live(ctx, i, act)
				}
				_ = sleep(ctx, time.Second)
			}
		})
	}
	all.Wait()
	return nil
}

// live acts and reads until one of both is over.
func (s *stranger) live(attack context.Context, number int, act func(context.Context, *stranger, int) bool) {
	ctx, cancel := context.WithCancel(attack)
	defer context.AfterFunc(ctx, func() { s.Close() })()
	var reading sync.WaitGroup
	reading.Go(func() { defer cancel(); s.read(attack, 0) })
	if act(ctx, s, number) {
		<-ctx.Done() // it keeps what it has
	}
	cancel()
	reading.Wait()
}

// sleep waits, or gives the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// holdCommand is how this program starts itself to hold more connections than one process may have:
//
//	siege hold URL EACH KIND ADDRESS...
//
// It opens so many from each address and keeps them until its input ends; then it prints how many it had and how many were
// refused. Those of the kind silent say nothing, and are made again when they are closed.
const holdCommand = "hold"

func hold(args []string, in io.Reader, out io.Writer) error {
	if len(args) < 3 {
		return errors.New("hold URL EACH KIND ADDRESS...")
	}
	each, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var t tally
	for _, a := range args[3:] {
		from, err := netip.ParseAddr(a)
		if err != nil {
			return err
		}
		if args[2] == silentKind {
			for range each {
				go silent(args[0], from, &t)
			}
			continue
		}
		go func() {
			for range each {
				if c, err := open(context.Background(), args[0], from, &t); err == nil {
					go c.read(context.Background(), 0)
				}
			}
		}()
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, t.opened.Load(), t.turnedAway.Load())
	return err
}

// Kinds of connections that are held.
const (
	silentKind = "silent"
	openKind   = "open" // WebSockets
)

// silent has one connection that says nothing, again and again.
func silent(url string, from netip.Addr, t *tally) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: 10 * time.Second}
	for {
		if c, err := d.Dial("tcp", strings.TrimPrefix(url, "ws://")); err == nil {
			t.opened.Add(1)
			_, _ = io.Copy(io.Discard, c) // until it is closed
			c.Close()
		}
		time.Sleep(time.Second)
	}
}

// holders has connections of a kind held until ctx ends, so many from each address, by processes with a few addresses each.
func holders(ctx context.Context, s *scene, kind string, each int, from []netip.Addr) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	for some := range slices.Chunk(from, 5) {
		args := []string{holdCommand, s.url, strconv.Itoa(each), kind}
		for _, a := range some {
			args = append(args, a.String())
		}
		cmd := exec.Command(self, args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		defer context.AfterFunc(ctx, func() { in.Close() })()
		all.Go(func() {
			var opened, refused int64
			if out, err := cmd.Output(); err == nil {
				_, _ = fmt.Sscan(string(out), &opened, &refused)
			}
			s.got.opened.Add(opened)
			s.got.turnedAway.Add(refused)
		})
	}
	all.Wait()
	return nil
}

// moreFiles allows this process, and those that it starts, as many connections as the system lets it have.
func moreFiles() {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
		l.Cur = l.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) // otherwise there are fewer
	}
}

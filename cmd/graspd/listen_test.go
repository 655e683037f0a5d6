package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// activated starts graspd as a service manager does that hands these listeners over.
func activated(t *testing.T, names string, listeners []*os.File, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`LISTEN_FDS=%d LISTEN_FDNAMES=%s LISTEN_PID=$$ exec "$0" "$@"`, len(listeners), names), self}, args...)...)
	sh.ExtraFiles = listeners
	return spawnThis(t, sh, nil)
}

// socket is what a socket unit holds: it listens as long as the test runs.
func socket(t *testing.T) (f *os.File, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		t.Fatalf("%T", l)
	}
	if f, err = tcp.File(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, l.Addr().String()
}

// asked is a connection on which the information document was asked for.
func asked(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nAccept: application/nostr+json\r\nConnection: close\r\n\r\n", addr); err != nil {
		t.Fatal(err)
	}
	return c
}

// answered is whether an answer comes.
func answered(c net.Conn) error {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %d", r.StatusCode)
	}
	return nil
}

// TestARestartRefusesNobody: with the socket that a service manager holds, who connects while no relay runs is answered by the next one,
// and who connects all along is answered by one of both.
func TestARestartRefusesNobody(t *testing.T) {
	f, addr := socket(t)
	args := []string{"--admin-listen", "", "--sync=false", "--domain", "relay.example.org", "--data", t.TempDir()}
	one := activated(t, "public", []*os.File{f}, args...)
	if at := one.out.await(t, `listens on ws://(\S+)\n`); at != addr {
		t.Fatalf("it listens on %s", at)
	}
	if err := answered(asked(t, addr)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
				}
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nAccept: application/nostr+json\r\nConnection: close\r\n\r\n", addr); err == nil {
					err = answered(c)
				}
				if c.Close(); err != nil {
					t.Errorf("who connects all along: %v", err)
				}
			}
		})
	}
	if err := one.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := one.wait(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, one.errs)
	}
	between := []net.Conn{asked(t, addr), asked(t, addr)}
	two := activated(t, "public", []*os.File{f}, args...)
	for _, c := range between {
		if err := answered(c); err != nil {
			t.Errorf("between both: %v %s", err, two.errs)
		}
	}
	close(stop)
	all.Wait()
}

// TestSocketsAreHandedOver by name, and what they overrule is told. Those that are meant for another process are left alone.
func TestSocketsAreHandedOver(t *testing.T) {
	public, publicAt := socket(t)
	admin, adminAt := socket(t)
	c := activated(t, "admin:graspd.socket", []*os.File{admin, public}, "--listen", "127.0.0.1:1", "--admin-listen", adminAt, "--sync=false", "--domain", "relay.example.org", "--data", t.TempDir())
	if at := c.out.await(t, `listens on ws://(\S+)\n`); at != publicAt {
		t.Errorf("public at %s", at)
	}
	if at := c.out.await(t, `at http://(\S+)/status.json\n`); at != adminAt {
		t.Errorf("private at %s", at)
	}
	c.errs.await(t, `(listens at another address than this setting says)" setting=listen\n`)
	if strings.Contains(c.errs.String(), "setting=admin-listen") {
		t.Error(c.errs)
	}
	twice := activated(t, "a:b", []*os.File{public, admin}, "--sync=false", "--data", t.TempDir())
	if code := twice.wait(t); code != exitFail {
		t.Errorf("two public sockets: %d", code)
	}
	inOneLine(t, twice.errs.String(), "two sockets", `"b"`)
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "1")
	other := spawn(t, "--listen", "127.0.0.1:0", "--admin-listen", "", "--sync=false", "--data", t.TempDir())
	other.out.await(t, `(listens on) ws://`)
}

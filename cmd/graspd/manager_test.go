package main

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// TestTheServiceManagerOfTheRelay is told that clients are served, not before they are, and that the relay is about to end, before it has.
func TestTheServiceManagerOfTheRelay(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told := func() string {
		t.Helper()
		if err := l.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		n, err := l.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	if code, _, errs := call(t, "", environment{"NOTIFY_SOCKET": socket}, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"); code != exitUsage || !strings.Contains(errs, "set GRASPD_DOMAIN in /etc/graspd.env") {
		t.Errorf("without a name: %d %s", code, errs)
	}
	c := spawn(t, "--domain", "git.example.org", "--listen", "127.0.0.1:0", "--admin-listen", "", "--sync=false", "--data", t.TempDir())
	url := c.out.await(t, `listens on (ws://\S+)\n`)
	if s := told(); s != "READY=1" {
		t.Fatalf("at the start %q", s)
	}
	k := dial(t, grasp.RelayURL(url))
	k.send([]byte(`["REQ","s",{"kinds":[1],"limit":1}]`))
	k.next()
	if err := c.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if s := told(); !regexp.MustCompile(`^RELOADING=1\nMONOTONIC_USEC=[1-9]\d+$`).MatchString(s) {
		t.Errorf("at a reload %q", s)
	}
	if s := told(); s != "READY=1" {
		t.Errorf("after a reload %q", s)
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := told(); s != "STOPPING=1" {
		t.Errorf("at the end %q", s)
	}
	if code := c.wait(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

package systemd_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/systemd"
)

// TestTheServiceManagerIsTold what is sent, in one datagram, and nobody is where nobody asks.
func TestTheServiceManagerIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	at, err := systemd.Socket()
	if _, left := os.LookupEnv("NOTIFY_SOCKET"); err != nil || at != socket || left {
		t.Fatalf("%q, %v, left for other processes: %v", at, err, left)
	}
	for _, state := range []string{systemd.Ready, systemd.Stopping} {
		if err := systemd.Tell(at, state); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		if err := l.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := l.Read(b); err != nil || string(b[:n]) != state {
			t.Errorf("%q, %v; want %q", b[:n], err, state)
		}
	}
	if at, err = systemd.Socket(); at != "" || err != nil {
		t.Errorf("without a service manager: %q, %v", at, err)
	}
	if err := systemd.Tell("", systemd.Ready); err != nil {
		t.Errorf("without a service manager: %v", err)
	}
	for _, bad := range []string{"notify", "vsock:2:1", socket + "x"} {
		if err := systemd.Tell(bad, systemd.Ready); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

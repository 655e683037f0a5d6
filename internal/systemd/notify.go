// Package systemd tells the service manager that started this process how it fares (sd_notify(3)), and takes the sockets that it hands
// over (sd_listen_fds(3)). Read Tell and Listeners.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// What is told: that clients are served, and that this process is about to end.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Reloading says that settings are read anew, and Ready follows when that is done.
func Reloading() (string, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return "", fmt.Errorf("monotonic clock: %w", err)
	}
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000), nil
}

// Socket returns where to tell, from NOTIFY_SOCKET, and takes that out of the environment, so that no process which this one starts
// tells anything. It is "" where no service manager wants to know.
func Socket() (string, error) {
	return os.Getenv("NOTIFY_SOCKET"), os.Unsetenv("NOTIFY_SOCKET")
}

// Tell sends one state to a socket of the service manager: a path, or an abstract name that begins with @. To "" it does nothing.
func Tell(socket, state string) (err error) {
	if socket == "" {
		return nil
	}
	if !strings.HasPrefix(socket, "/") && !strings.HasPrefix(socket, "@") {
		return fmt.Errorf("NOTIFY_SOCKET is neither a path nor an abstract name: %q", socket)
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	_, err = c.Write([]byte(state))
	return err
}

// Package systemd tells the service manager that started this process the state of the process (sd_notify(3)), and takes the sockets that the
// manager hands over (sd_listen_fds(3)). Read Tell and Listeners.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The states for Tell: this process serves clients, and it is about to end.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Reloading returns the state for Tell that says that this process reads its settings anew. Ready has to follow it.
func Reloading() (string, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return "", fmt.Errorf("monotonic clock: %w", err)
	}
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000), nil
}

// Socket returns the socket for Tell from NOTIFY_SOCKET; "" where no service manager wants to know. It takes the variable out of the
// environment, so that no process which this one starts tells anything.
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

package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Handed is a socket that the service manager has opened, so that connections wait in the kernel while no process of the service runs.
type Handed struct {
	net.Listener
	Name string // FileDescriptorName= of the socket unit
}

// The first file descriptor that the service manager hands over, and how many there may be.
const (
	firstHanded = 3
	mostHanded  = 16
)

// Listeners returns the sockets that the service manager hands over (sd_listen_fds(3)); none where they are for another process. It takes
// their variables out of the environment, so that no process which this one starts takes the sockets for its own. The caller closes them.
func Listeners() (handed []Handed, err error) {
	pid, count, names := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_FDNAMES")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"} {
		err = errors.Join(err, os.Unsetenv(name))
	}
	if err != nil || pid != strconv.Itoa(os.Getpid()) {
		return nil, err
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > mostHanded {
		return nil, fmt.Errorf("LISTEN_FDS is no number from 0 to %d: %q", mostHanded, count)
	}
	called := strings.Split(names, ":")
	for i := range n {
		h := Handed{}
		if i < len(called) {
			h.Name = called[i]
		}
		f := os.NewFile(uintptr(firstHanded+i), h.Name)
		h.Listener, err = net.FileListener(f)
		if err = errors.Join(err, f.Close()); err != nil { // the listener has a copy of the descriptor, which no child process gets
			for _, x := range handed {
				err = errors.Join(err, x.Close())
			}
			return nil, fmt.Errorf("socket %d of the service manager (%q): %w", i+1, h.Name, err)
		}
		handed = append(handed, h)
	}
	return handed, nil
}

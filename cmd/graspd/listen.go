package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/systemd"
)

// handedAdmin is the name of the private listener in a socket unit; any other name means the public one.
const handedAdmin = "admin"

// listen takes the sockets that the service manager hands over, and opens those that it does not hand over.
func listen(c Config) (l node.Listeners, err error) {
	handed, err := systemd.Listeners()
	if err != nil {
		return l, err
	}
	for _, h := range handed {
		to, name := &l.Public, "--listen"
		if h.Name == handedAdmin {
			to, name = &l.Admin, "--admin-listen"
		}
		if *to != nil {
			return l, errors.Join(fmt.Errorf("the service manager hands over two sockets for %s, the second one named %q", name, h.Name), h.Close(), l.Close())
		}
		*to = h.Listener
	}
	if l.Public == nil {
		if l.Public, err = net.Listen("tcp", c.Listen); err != nil {
			return l, errors.Join(fmt.Errorf("--listen: %w", err), l.Close())
		}
	}
	if c.AdminListen == "" || l.Admin != nil {
		return l, nil
	}
	if l.Admin, err = listenAdmin(c.AdminListen); err != nil {
		return l, errors.Join(fmt.Errorf("--admin-listen: %w (give another address, or none to do without)", err), l.Close())
	}
	return l, nil
}

// listenAdmin opens the private listener: at an address, or as a unix socket that its user and group alone may use.
func listenAdmin(at string) (net.Listener, error) {
	path, socket := strings.CutPrefix(at, unixPrefix)
	if !socket {
		return net.Listen("tcp", at)
	}
	if c, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("another process listens at %s", path), c.Close())
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket { // left by a kill
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	defer syscall.Umask(syscall.Umask(0o117)) // so that it never is open to others, not even for a moment
	return net.Listen("unix", path)
}

// overruled names the flags whose address is another than that of the socket which the service manager has handed over.
func overruled(c Config, l node.Listeners) (flags []string) {
	for _, x := range []struct {
		flag, value, usual string
		l                  net.Listener
	}{{"listen", c.Listen, usualListen, l.Public}, {"admin-listen", c.AdminListen, usualAdminListen, l.Admin}} {
		if x.l == nil || x.value == x.usual || strings.TrimPrefix(x.value, unixPrefix) == x.l.Addr().String() {
			continue
		}
		want, err := net.ResolveTCPAddr("tcp", x.value)
		got, tcp := x.l.Addr().(*net.TCPAddr)
		if err != nil || !tcp || want.Port != 0 && want.Port != got.Port || !want.IP.Equal(got.IP) && !(unspecified(want.IP) && unspecified(got.IP)) {
			flags = append(flags, x.flag)
		}
	}
	return flags
}

func unspecified(ip net.IP) bool { return len(ip) == 0 || ip.IsUnspecified() }

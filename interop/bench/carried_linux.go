package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// carried returns how many bytes the process has sent and received over its open connections to that address (host:port), by the counters of
// the system: so nobody stands between both ends.
func (g *process) carried(addr string) (sum int64, err error) {
	pid := g.cmd.Process.Pid
	of, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, fmt.Errorf("connections of graspd: %w", err)
	}
	defer unix.Close(of)
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		n, err := strconv.Atoi(f.Name())
		if to, gone := os.Readlink(dir + f.Name()); err != nil || gone != nil || !strings.HasPrefix(to, "socket:") {
			continue
		}
		bytes, err := carriedBy(of, n, addr)
		if err != nil {
			return 0, fmt.Errorf("connections of graspd: %w", err)
		}
		sum += bytes
	}
	return sum, nil
}

// carriedBy looks at one socket of a process; nothing where that is no connection to the address.
func carriedBy(pidfd, n int, addr string) (int64, error) {
	fd, err := unix.PidfdGetfd(pidfd, n, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	peer, err := unix.Getpeername(fd)
	if err != nil || address(peer) != addr {
		return 0, nil // it listens, or leads elsewhere
	}
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0, err
	}
	return int64(info.Bytes_acked + info.Bytes_received), nil
}

func address(a unix.Sockaddr) string {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return net.JoinHostPort(net.IP(a.Addr[:]).String(), strconv.Itoa(a.Port))
	case *unix.SockaddrInet6:
		return net.JoinHostPort(net.IP(a.Addr[:]).String(), strconv.Itoa(a.Port))
	}
	return ""
}

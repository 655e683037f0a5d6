package main

import (
	"math"
	"syscall"
)

// Connections that clients may have at once where the system allows the process enough file descriptors.
const (
	mostClients = 20_000
	mostOthers  = 1_000 // that are no WebSockets: still to become one, to be told that there are too many, or for a page
)

// ownFiles are the descriptors that the process needs for itself, besides those for other relays: the store's tables and logs, the
// listeners, the private pages.
const ownFiles = 700

// connectionsFor says how many WebSockets, and how many connections in all, clients may have with so many file descriptors
// beside so many other relays. Without that the descriptors would be gone before the places, and those that are kept for
// addresses that have none yet would be worth nothing.
func connectionsFor(files uint64, relays int) (clients, all int) {
	n := int(min(files, math.MaxInt32))
	all = min(max(n-ownFiles-relays, n/2, 1), mostClients+mostOthers)
	return all - min(all/10, mostOthers), all
}

// openFiles is how many descriptors the process may have; Go has raised that to what the system allows.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64 // nothing is known of a bound
	}
	return uint64(l.Cur)
}

package main

import (
	"math"
	"syscall"
)

// Connections that clients may have at once, where the system allows the process enough file descriptors.
const (
	mostClients = 20_000
	mostOthers  = 1_000 // no WebSockets: they may become one, are told that there are too many, or ask for a page
)

// ownFiles is how many descriptors the process needs for itself, besides those for other relays: for the store's tables and logs, the
// listeners and the private pages.
const ownFiles = 700

// connectionsFor returns how many WebSockets, and how many connections in all, clients may have with so many file descriptors beside so
// many other relays. Without these bounds the descriptors would be gone before the places, and the places kept for addresses that have
// none yet would be worth nothing.
func connectionsFor(files uint64, relays int) (clients, all int) {
	n := int(min(files, math.MaxInt32))
	all = min(max(n-ownFiles-relays, n/2, 1), mostClients+mostOthers)
	return all - min(all/10, mostOthers), all
}

// openFiles returns how many descriptors the process may have. Go has raised that number to what the system allows.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64 // no bound is known
	}
	return uint64(l.Cur)
}

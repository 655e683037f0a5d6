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

// File descriptors that the process needs for other things than clients. Where there are few, each of these gets an eighth at most, and the
// connections to other relays a quarter.
const (
	ownFiles   = 200 // listeners, the store's logs, private pages, what is read for a moment
	tableFiles = 500 // tables of the store
	gitFiles   = 500 // pipes of git's processes, packs that are received, sent or kept
)

// fdShares says how many file descriptors each part of the process may have.
type fdShares struct {
	clients int // WebSockets
	all     int // connections of clients
	relays  int // connections to other relays
	tables  int // tables of the store
}

// divideDescriptors divides that many descriptors where so many relays are wanted. Without these bounds the descriptors would be gone before the places:
// the store could not open a table, and the places kept for addresses that have none yet would be worth nothing.
func divideDescriptors(files uint64, relays int) fdShares {
	n := int(min(files, math.MaxInt32))
	part := func(of int) int { return max(1, min(of, n/8)) }
	s := fdShares{relays: max(1, min(relays, n/4)), tables: part(tableFiles)}
	s.all = min(max(n-s.relays-s.tables-part(ownFiles)-part(gitFiles), 1), mostClients+mostOthers)
	s.clients = s.all - min(s.all/10, mostOthers)
	return s
}

// openFiles returns how many descriptors the process may have. Go has raised that number to what the system allows.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64 // no bound is known
	}
	return uint64(l.Cur)
}

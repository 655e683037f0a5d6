package relayconn

import "github.com/graspd/graspd/internal/base/publicnet"

// Left is how much memory for messages nobody holds. Bytes.
func (d *Dialer) Left() int {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	return d.memory.free
}

// Held is what a party holds. Bytes.
func (d *Dialer) Held(party string) int {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	return d.memory.held[party]
}

// Waiting is how many messages wait for memory.
func (d *Dialer) Waiting() int {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	return len(d.memory.waiting)
}

// Parties is of how many something is known.
func (d *Dialer) Parties() int {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	return len(d.memory.held)
}

// ErrForbiddenAddress is wrapped by errors of Dial and Info where the address rule forbids the host.
var ErrForbiddenAddress = publicnet.ErrForbidden

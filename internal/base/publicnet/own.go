package publicnet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ownFor is how long own remembers this machine's addresses.
const ownFor = time.Minute

// own knows the addresses of this machine. At these addresses listen services that trust the machine more than they trust strangers, this
// relay itself, and programs that are not meant for the world although they listen to it.
type own struct {
	interfaces func() ([]netip.Addr, error)
	lookup     func(context.Context, string) ([]netip.Addr, error)
	service    string

	mu      sync.Mutex // guards all below, never held across a lookup
	machine remembered // addresses of interfaces
	named   remembered // addresses to which service resolves
}

type remembered struct {
	list []netip.Addr
	at   time.Time
}

// has reports whether a at that port is this machine. The service's name may resolve to a front that other relays share, such as a proxy
// before many sites: so at the ports of the web the name's addresses do not count. Where has cannot find addresses out now, it takes those
// that it knew last.
func (o *own) has(ctx context.Context, a netip.Addr, port string) bool {
	if o.interfaces != nil && slices.Contains(o.list(&o.machine, o.interfaces), a) {
		return true
	}
	if o.service == "" || port == "80" || port == "443" {
		return false
	}
	if s, err := netip.ParseAddr(o.service); err == nil {
		return s == a
	}
	return o.lookup != nil && slices.Contains(o.list(&o.named, func() ([]netip.Addr, error) { return o.lookup(ctx, o.service) }), a)
}

func (o *own) list(r *remembered, ask func() ([]netip.Addr, error)) []netip.Addr {
	o.mu.Lock()
	known := *r
	o.mu.Unlock()
	if !known.at.IsZero() && time.Since(known.at) < ownFor {
		return known.list
	}
	list, err := ask()
	if err != nil {
		return known.list
	}
	known = remembered{at: time.Now()}
	for _, a := range list {
		known.list = append(known.list, a.Unmap().WithZone(""))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	*r = known
	return known.list
}

func ownAddress(a netip.Addr) error {
	return fmt.Errorf("%w: %s is this machine (a relay on it can be named with --bootstrap)", ErrForbidden, a)
}

// interfaces asks the system for the addresses of its interfaces.
func interfaces() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	var out []netip.Addr
	for _, x := range all {
		if n, ok := x.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

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

// ownFor is how long it is remembered what this machine's addresses are.
const ownFor = time.Minute

// own knows the addresses of this machine. Behind them are services that trust it more than they trust strangers, this relay itself,
// and whatever is not meant for the world although it listens to it.
type own struct {
	interfaces func() ([]netip.Addr, error)
	lookup     func(context.Context, string) ([]netip.Addr, error)
	service    string

	mu      sync.Mutex // guards all below, never held across a lookup
	machine remembered // addresses of interfaces
	named   remembered // what service resolves to
}

type remembered struct {
	list []netip.Addr
	at   time.Time
}

// has says whether a is this machine at that port. What the service's name resolves to may be a front that it shares with other
// relays, such as a proxy before many sites: at the ports of the web it does not count. What cannot be found out now is taken as it
// was known last.
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

// interfaces asks the system.
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

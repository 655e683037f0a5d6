// Package publicnet opens connections to the URLs of strangers, but only to the public network: not to private addresses, however they are
// spelled or resolved, not to this machine, and not to the ports of other services. All code that dials because of a stranger's words dials
// through publicnet. Read Target, then Connect.
package publicnet

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
)

// Config says how a Net makes connections. The zero Config is right for production.
type Config struct {
	AllowPrivate bool           // dial addresses that are not public too
	RootCAs      *x509.CertPool // certificates of authorities to trust; nil: those of the system

	// Service is the host under which clients reach this relay. For strangers, a Net dials the addresses to which Service resolves
	// only at the ports of the web, which other sites may share. Empty: none.
	Service string
	// Interfaces lists the addresses of this machine, which a Net does not dial for strangers. nil: the Net asks the system; if the
	// caller sets DialContext, there are none.
	Interfaces func() ([]netip.Addr, error)
	// Lookup resolves a host name. nil: the system's resolver; if the caller sets DialContext, a Net hands names to DialContext
	// instead, which then is responsible for where they lead.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// DialContext opens a connection to address, an IP address and port that passed the address rule. nil: the network.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Net opens connections. Any number of goroutines may use a Net.
type Net struct {
	cfg Config
	own *own
}

// New returns a Net with the defaults of Config filled in.
func New(cfg Config) *Net {
	if cfg.DialContext == nil {
		cfg.DialContext = (&net.Dialer{}).DialContext
		if cfg.Lookup == nil {
			cfg.Lookup = lookup
		}
		if cfg.Interfaces == nil {
			cfg.Interfaces = interfaces
		}
	}
	return &Net{cfg, &own{interfaces: cfg.Interfaces, lookup: cfg.Lookup, service: cfg.Service}}
}

func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

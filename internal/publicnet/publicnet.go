// Package publicnet opens connections to where strangers' URLs lead, and to nowhere else than the public network: not to private
// addresses, however they are spelled or resolved, not to this machine, and not to the ports of other services. Whatever dials because
// of what a stranger wrote dials through it. Read Target, then Connect.
package publicnet

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
)

// Config is how connections are made. The zero value is right for production.
type Config struct {
	AllowPrivate bool           // dial addresses that are not public too
	RootCAs      *x509.CertPool // nil: those of the system

	// Service is the host under which this relay is reached. What it resolves to is not dialed for strangers, but at the ports of the
	// web, which others may share with it. Empty: none.
	Service string
	// Interfaces lists the addresses of this machine, which are not dialed for strangers. nil: the system is asked; with a DialContext
	// of the caller's, there are none.
	Interfaces func() ([]netip.Addr, error)
	// Lookup resolves a host name. nil: the system's resolver; with a DialContext of the caller's, names are handed to that instead,
	// which then answers for where they lead.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// DialContext opens a connection to address, an IP address and port that passed the address rule. nil: the network.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Net opens connections. Any number of goroutines may use it.
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

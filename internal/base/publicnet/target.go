package publicnet

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Target is a URL taken apart for dialing.
type Target struct {
	URL    *url.URL // scheme http or https
	host   string   // name or address, without brackets and port
	port   string
	addr   netip.Addr // the host where it is an address, else invalid
	exempt bool       // the address rule does not apply
}

// Target takes apart a URL whose scheme is http or https. exempt says that the operator typed the URL, so that the address rule does not
// apply.
func (n *Net) Target(u *url.URL, exempt bool) (Target, error) {
	t := Target{URL: u, host: u.Hostname(), port: u.Port(), exempt: exempt || n.cfg.AllowPrivate}
	defaultPort := "443"
	switch u.Scheme {
	case "https":
	case "http":
		defaultPort = "80"
	default:
		return Target{}, errors.New("the scheme is neither http nor https")
	}
	if u.User != nil {
		return Target{}, errors.New("credentials in the URL")
	}
	if t.port == "" {
		t.port = defaultPort
	}
	if n, err := strconv.ParseUint(t.port, 10, 16); err != nil || n == 0 {
		return Target{}, errors.New("the port is out of range")
	} else if !t.exempt && !webPort(uint16(n)) {
		return Target{}, fmt.Errorf("%w: port %d belongs to another service", ErrForbidden, n)
	}
	var err error
	if t.addr, err = netip.ParseAddr(t.host); err != nil {
		return t, checkName(t.host)
	}
	if !t.exempt && !Public(t.addr) {
		return Target{}, fmt.Errorf("%w: %s is not public", ErrForbidden, t.addr.WithZone(""))
	}
	return t, nil
}

// webPort reports whether a stranger's URL may have that port: the ports of the web, and ports that need no privilege. At other ports are
// mail, names, shells and the like, to which graspd does not speak for a stranger.
func webPort(n uint16) bool { return n == 80 || n == 443 || n >= 1024 }

// checkName refuses texts that are no host names: empty or too long ones, texts with characters that DNS does not carry, and numbers that
// some resolvers read as addresses (127.1, 0177.0.0.1, 2130706433, 0x7f000001). It refuses .onion too, which DNS must not see (RFC 7686).
func checkName(host string) error {
	name := strings.TrimSuffix(host, ".")
	if name == "" || len(name) > 253 {
		return errors.New("the host is empty or too long")
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != "" {
		return errors.New("the host has characters that no host name has")
	}
	last := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	if last == "onion" {
		return errors.New("no route to .onion hosts")
	}
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return errors.New("the host is a number that is no address")
	}
	return nil
}

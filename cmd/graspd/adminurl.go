package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// adminAt returns the URL of the private listener of a graspd on this machine, as far as the environment tells it. A health check in a
// container, for one, has the variables of the relay.
func adminAt(env environment) string { return adminBehind(env["GRASPD_ADMIN_LISTEN"]) }

// adminBehind returns the URL under which this machine reaches a private listener with that listen address.
func adminBehind(listen string) string {
	const usual = "http://127.0.0.1:7335"
	if strings.HasPrefix(listen, unixPrefix) {
		return listen
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "" || port == "0" {
		return usual
	}
	switch a, err := netip.ParseAddr(host); {
	case host == "", err == nil && a == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case err == nil && a == netip.IPv6Unspecified():
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// unixPrefix stands before the path of a unix socket.
const unixPrefix = "unix:"

// clientOf returns a client whose requests go through a unix socket.
func clientOf(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// adminURL makes a flag for the address of a private listener, as URL, as host:port or as unix:PATH.
func adminURL(name, def, about string, v *string) setting {
	return setting{name: name, placeholder: "URL", def: def, about: about, set: func(s string) error {
		if strings.HasPrefix(s, unixPrefix) {
			*v = s
			return nil
		}
		if !strings.Contains(s, "://") {
			s = "http://" + s
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("want a URL such as %s", def)
		}
		*v = strings.TrimRight(u.String(), "/")
		return nil
	}}
}

package grasp

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// splitHost reads the host part of a URL: "name", "name:port", "[v6]" or "[v6]:port". It returns a normalised host without brackets, and a
// port without leading zeros, or "" if there is no port.
func splitHost(s string) (host, port string, err error) {
	host, rest := s, ""
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", errors.New("malformed host")
		}
		host, rest = s[1:end], s[end+1:]
		if host, err = normalIPv6(host); err != nil {
			return "", "", err
		}
	} else {
		if i := strings.IndexByte(s, ':'); i >= 0 {
			host, rest = s[:i], s[i:]
		}
		if host, err = normalName(host); err != nil {
			return "", "", err
		}
	}
	if rest == "" {
		return host, "", nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(rest, ":"), 10, 16)
	if err != nil || n == 0 || rest[0] != ':' {
		return "", "", errors.New("port is not 1-65535")
	}
	return host, strconv.FormatUint(n, 10), nil
}

func normalIPv6(s string) (string, error) {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Zone() != "" || ip.Is4() {
		return "", errors.New("malformed IPv6 address")
	}
	return ip.Unmap().String(), nil
}

// normalName returns a DNS name in lower-case ASCII without a dot at its end, or an IPv4 address.
func normalName(s string) (string, error) {
	ascii, err := toASCII(s)
	if err != nil {
		return "", err
	}
	ascii = strings.TrimSuffix(ascii, ".")
	if !validName(ascii) {
		return "", errors.New("host is no DNS name")
	}
	if isNumber(ascii[strings.LastIndexByte(ascii, '.')+1:]) {
		ip, err := netip.ParseAddr(ascii)
		if err != nil {
			return "", errors.New("host is a number but no IPv4 address")
		}
		return ip.String(), nil
	}
	return ascii, nil
}

var errProxy = errors.New("host needs a proxy")

// needsProxy reports whether a host is in a network that nobody reaches without a proxy.
func needsProxy(host string) bool {
	switch host[strings.LastIndexByte(host, '.')+1:] {
	case "onion", "i2p", "loki":
		return true
	}
	return false
}

// toASCII applies IDNA only to names that are not ASCII: the lookup profile refuses underscores, which real host names have.
func toASCII(s string) (string, error) {
	lower := strings.ToLower(s)
	if isASCII(lower) && !strings.Contains(lower, "xn--") {
		return lower, nil
	}
	ascii, err := idna.Lookup.ToASCII(lower)
	if err != nil || !isASCII(ascii) {
		return "", errors.New("host is no international domain name")
	}
	return ascii, nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// validName allows what DNS carries in practice: letters, digits, hyphens and underscores in labels of 1 to 63 bytes.
func validName(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// isNumber reports whether a last label makes resolvers read the whole host as an IPv4 address (WHATWG URL).
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// joinHost writes the host part of a URL.
func joinHost(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return host
}

package front_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/serve/front"
)

// FuzzForwarded: nobody but trusted proxies has a say in where a client is, and what a client puts in front of what they
// say does not matter.
func FuzzForwarded(f *testing.F) {
	for _, seed := range [][2]string{
		{"198.51.100.1:5", "203.0.113.9"}, {"127.0.0.1:5", "203.0.113.9, 10.1.1.1"}, {"127.0.0.1:5", "10.0.0.1"},
		{"[::1]:5", "[2001:db8::1]:443"}, {"127.0.0.1:5", "::ffff:203.0.113.9"}, {"127.0.0.1:5", "fe80::1%eth0"},
		{"127.0.0.1:5", "unknown,"}, {"@", "203.0.113.9"}, {"127.0.0.1:5", "0177.0.0.1"}, {"127.0.0.1:5", "1.2.3.4:99999"},
	} {
		f.Add(seed[0], seed[1])
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	f.Fuzz(func(t *testing.T, remote, header string) {
		from := func(headers ...string) netip.Addr {
			req := httptest.NewRequest(http.MethodGet, "/", nil)
			req.RemoteAddr = remote
			req.Header["X-Forwarded-For"] = headers
			return front.AddrBehind(proxies, req)
		}
		trusted := func(a netip.Addr) bool {
			return a.Is4() && (a.As4()[0] == 127 || a.As4()[0] == 10) || a == netip.IPv6Loopback()
		}
		own, got := from(), from(header)
		if got.Is4In6() || got.Zone() != "" {
			t.Errorf("%q, %q: %v has more than one spelling", remote, header, got)
		}
		if !trusted(own) && got != own {
			t.Errorf("%q, %q: %v says that it is %v", remote, header, own, got)
		}
		if !got.IsValid() && own.IsValid() {
			t.Errorf("%q, %q: nobody", remote, header)
		}
		if !trusted(got) {
			if a, b := from("192.0.2.66, "+header), from("192.0.2.66", header); a != got || b != got {
				t.Errorf("%q, %q: %v became %v and %v by what stands in front", remote, header, got, a, b)
			}
		}
		if trusted(own) && got != own && !strings.Contains(header, ",") {
			if again := from(got.String()); again != got {
				t.Errorf("%q, %q: %v is read as %v", remote, header, got, again)
			}
		}
	})
}

func TestClientAddr(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	tests := []struct {
		name, remote string
		forwarded    []string
		proxies      []netip.Prefix
		want         string
	}{
		{"plain", "198.51.100.1:5", nil, nil, "198.51.100.1"},
		{"header of a stranger", "198.51.100.1:5", []string{"203.0.113.9"}, proxies, "198.51.100.1"},
		{"no proxy is trusted", "127.0.0.1:5", []string{"203.0.113.9"}, nil, "127.0.0.1"},
		{"through a proxy", "127.0.0.1:5", []string{"203.0.113.9"}, proxies, "203.0.113.9"},
		{"through two", "127.0.0.1:5", []string{"203.0.113.9, 10.1.1.1"}, proxies, "203.0.113.9"},
		{"in two headers", "127.0.0.1:5", []string{"203.0.113.9", "10.1.1.1"}, proxies, "203.0.113.9"},
		{"forged first hops", "127.0.0.1:5", []string{"192.0.2.77, 203.0.113.9"}, proxies, "203.0.113.9"},
		{"nonsense", "127.0.0.1:5", []string{"203.0.113.9, unknown"}, proxies, "127.0.0.1"},
		{"proxy without a header", "127.0.0.1:5", nil, proxies, "127.0.0.1"},
		{"IPv6 with a port", "[2001:db8::1]:5", nil, nil, "2001:db8::1"},
		{"IPv6 through a proxy", "127.0.0.1:5", []string{"2001:db8::2"}, proxies, "2001:db8::2"},
		{"mapped IPv4", "[::ffff:198.51.100.1]:5", nil, nil, "198.51.100.1"},
		{"Unix socket", "@", nil, nil, "invalid IP"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest("GET", "/", nil)
			req.RemoteAddr = tt.remote
			req.Header["X-Forwarded-For"] = tt.forwarded
			if got := front.AddrBehind(tt.proxies, req).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

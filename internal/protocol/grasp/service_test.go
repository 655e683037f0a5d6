package grasp_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

func service(t testing.TB, domain string) grasp.Service {
	t.Helper()
	s, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestServiceIsListed(t *testing.T) {
	for _, tc := range []struct {
		name, domain, listed string
		want                 bool
	}{
		{"the same", "example.com", "wss://example.com", true},
		{"case and slash", "Example.COM", "WSS://EXAMPLE.com/", true},
		{"ws", "example.com", "ws://example.com", true},
		{"https", "example.com", "https://example.com", true},
		{"no scheme", "example.com", "example.com", true},
		{"query", "example.com", "wss://example.com/?x", true},
		{"default port written", "example.com", "wss://example.com:443", true},
		{"default port of ws written", "example.com", "ws://example.com:80", true},
		{"port of the other scheme", "example.com", "wss://example.com:80", false},
		{"port of the other scheme, ws", "example.com", "ws://example.com:443", false},
		{"service port 443", "example.com:443", "wss://example.com", true},
		{"service port 443, written", "example.com:443", "wss://example.com:443", true},
		{"service port 443, ws", "example.com:443", "ws://example.com", false},
		{"service port 443, ws and written", "example.com:443", "ws://example.com:443", true},
		{"service port 80", "example.com:80", "ws://example.com", true},
		{"service port 80, wss", "example.com:80", "wss://example.com", false},
		{"service port", "127.0.0.1:7334", "ws://127.0.0.1:7334", true},
		{"service port, wss", "127.0.0.1:7334", "wss://127.0.0.1:7334", true},
		{"service port missing", "127.0.0.1:7334", "ws://127.0.0.1", false},
		{"another port", "example.com", "wss://example.com:7334", false},
		{"port as a prefix", "127.0.0.1:733", "ws://127.0.0.1:7334", false},
		{"IPv6", "[::1]:7334", "ws://[0:0::1]:7334", true},
		{"international", "bücher.example", "wss://xn--bcher-kva.example", true},
		{"root dot", "example.com", "wss://example.com.", true},
		{"base path", "example.com/base", "wss://example.com/base/", true},
		{"base path missing", "example.com/base", "wss://example.com", false},
		{"base path in other case", "example.com/base", "wss://example.com/Base", false},
		{"longer than the base path", "example.com/base", "wss://example.com/base2", false},
		{"below the base path", "example.com/base", "wss://example.com/base/x", false},
		{"path where there is none", "example.com", "wss://example.com/base", false},

		{"evil- before the domain", "example.com", "https://evil-example.com", false},
		{"letters before the domain", "git.example.com", "wss://notgit.example.com", false},
		{"subdomain", "example.com", "wss://git.example.com", false},
		{"parent domain", "git.example.com", "wss://example.com", false},
		{"domain as a prefix", "example.com", "wss://example.com.evil.example", false},
		{"domain in the path", "example.com", "wss://evil.example/example.com", false},
		{"domain in the query", "example.com", "wss://evil.example/?wss://example.com", false},
		{"domain in the fragment", "example.com", "wss://evil.example/#wss://example.com", false},
		{"domain as the user", "example.com", "wss://example.com@evil.example", false},
		{"user at the domain", "example.com", "wss://evil.example@example.com", false},
		{"domain as the scheme", "example.com", "example.com://evil.example", false},
		{"look-alike", "example.com", "wss://exаmple.com", false},
		{"other scheme", "example.com", "git://example.com", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := service(t, tc.domain)
			a := &nip34.Announcement{Relays: []string{"", "wss://elsewhere.example", tc.listed}}
			if got := s.Lists(a); got != tc.want {
				t.Errorf("Lists(%q) = %v", tc.listed, got)
			}
			u, err := grasp.NormalizeRelay(tc.listed)
			if got := err == nil && s.Is(u); got != tc.want {
				t.Errorf("Is(%q) = %v", u, got)
			}
			if (grasp.Service{}).Lists(a) {
				t.Error("the zero service is listed")
			}
		})
	}
}

// Until git is served here, a clone URL alone does not list the service, nor do tags of other meaning.
func TestServiceIsListedInRelaysOnly(t *testing.T) {
	a := &nip34.Announcement{Clone: []string{"https://example.com/npub1x/d.git"}, Web: []string{"wss://example.com"}}
	if service(t, "example.com").Lists(a) {
		t.Error("listed by a clone URL")
	}
}

func TestServiceForms(t *testing.T) {
	for _, tc := range []struct{ domain, text, url string }{
		{"relay.example.org", "relay.example.org", "wss://relay.example.org"},
		{"Relay.Example.org./", "relay.example.org", "wss://relay.example.org"},
		{"relay.example.org:443", "relay.example.org:443", "wss://relay.example.org"},
		{"relay.example.org:80", "relay.example.org:80", "ws://relay.example.org"},
		{"relay.example.org:7334", "relay.example.org:7334", "wss://relay.example.org:7334"},
		{"example.org/base/", "example.org/base", "wss://example.org/base"},
		{"example.org/a b", "", ""},
		{"127.0.0.1:7334", "127.0.0.1:7334", "ws://127.0.0.1:7334"},
		{"127.0.0.1:443", "127.0.0.1:443", "wss://127.0.0.1"},
		{"127.0.0.1", "127.0.0.1", "ws://127.0.0.1"},
		{"192.168.1.2:7334", "192.168.1.2:7334", "ws://192.168.1.2:7334"},
		{"169.254.1.2:7334", "169.254.1.2:7334", "ws://169.254.1.2:7334"},
		{"192.0.2.1:7334", "192.0.2.1:7334", "wss://192.0.2.1:7334"},
		{"[::1]:7334", "[::1]:7334", "ws://[::1]:7334"},
		{"[2001:db8::1]", "[2001:db8::1]", "wss://[2001:db8::1]"},
		{"localhost:7334", "localhost:7334", "ws://localhost:7334"},
		{"graspd:7334", "graspd:7334", "ws://graspd:7334"},
		{"bücher.example", "xn--bcher-kva.example", "wss://xn--bcher-kva.example"},
		{"", "", ""},
		{":7334", "", ""},
		{"0.0.0.0:7334", "", ""},
		{"[::]:7334", "", ""},
		{"::1", "", ""},
		{"[::1", "", ""},
		{"[127.0.0.1]:7334", "", ""},
		{"example.org:0", "", ""},
		{"example.org:port", "", ""},
		{"wss://example.org", "", ""},
		{"user@example.org", "", ""},
		{"example.org?x", "", ""},
		{"example.org/base?x", "", ""},
		{"example.org/base#x", "", ""},
		{"example.org/%zz", "", ""},
		{"exa mple.org", "", ""},
		{"x.onion", "x.onion", "ws://x.onion"},
		{"X.Onion:7334/git", "x.onion:7334/git", "ws://x.onion:7334/git"},
	} {
		t.Run(tc.domain, func(t *testing.T) {
			s, err := grasp.ParseService(tc.domain)
			if tc.text == "" {
				if err == nil || s != (grasp.Service{}) {
					t.Fatalf("taken as %q", s)
				}
				return
			}
			if err != nil || s.String() != tc.text || s.RelayURL().String() != tc.url {
				t.Fatalf("got %q, %q, %v", s, s.RelayURL(), err)
			}
			if again, err := grasp.ParseService(s.String()); err != nil || again != s {
				t.Errorf("read again as %q, %v", again, err)
			}
			if u, err := grasp.NormalizeRelay(tc.url); strings.Contains(tc.text, ".onion") != (err != nil) || err == nil && u != s.RelayURL() || !s.Is(s.RelayURL()) || !s.Named(tc.url) {
				t.Errorf("its own URL is normalised to %q, %v, and is it: %v, %v", u, err, s.Is(s.RelayURL()), s.Named(tc.url))
			}
		})
	}
}

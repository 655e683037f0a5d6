package grasp_test

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// TestNames: whoever signs a URL may write it as their browser, their client or the operator's settings do.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		domain, path string
		yes, no      []string
	}{
		{"relay.example.org", "", []string{
			"https://relay.example.org", "https://relay.example.org/", "wss://RELAY.Example.ORG", "HTTPS://relay.example.org:443/", "http://relay.example.org", "ws://relay.example.org:80",
			"https://relay.example.org.", "https://relay.example.org:0443", "http://relay.example.org:443",
		}, []string{
			"", "relay.example.org", "//relay.example.org", "https:relay.example.org", "ftp://relay.example.org", "https://relay.example.org:8443", "https://relay.example.org/x", "https://relay.example.org/?a", "https://relay.example.org/#a",
			"https://relay.example.org?", "https://me@relay.example.org", "https://relay.example.org.evil.example", "https://evil.example/relay.example.org", "https://xrelay.example.org", "https://relay.example.org\\@evil.example", "https://[relay.example.org]", "https://relay.example.org:", "https:///", "null",
		}},
		{"nas:8443", "/operator/login", []string{"https://nas:8443/operator/login", "http://NAS:8443/operator/login/", "wss://nas.:8443/operator/login", "https://nas:8443/operator/log%69n"},
			[]string{"https://nas/operator/login", "https://nas:443/operator/login", "https://nas:8443/operator", "https://nas:8443/Operator/login", "https://nas:8443//operator/login"}},
		{"relay.example.org:443", "", []string{"https://relay.example.org", "wss://relay.example.org:443", "http://relay.example.org:443"}, []string{"http://relay.example.org", "https://relay.example.org:80"}},
		{"relay.example.org:80", "", []string{"http://relay.example.org", "ws://relay.example.org:80"}, []string{"https://relay.example.org"}},
		{"10.0.0.7:7334", "/git", []string{"https://10.0.0.7:7334/git", "http://10.0.0.7:7334/git/"}, []string{"https://10.0.0.8:7334/git", "https://10.0.0.7/git"}},
		{"[fd00::1]:7334", "", []string{"https://[FD00:0::1]:7334/"}, []string{"https://[fd00::2]:7334/", "https://fd00::1:7334/"}},
		{"bücher.example/git", "/git/npub1/a b.git", []string{"https://bücher.example/git/npub1/a%20b.git", "https://xn--bcher-kva.example/git/npub1/a%20b.git", "https://BÜCHER.example./git/npub1/a%20b%2Egit"}, []string{"https://bucher.example/git/npub1/a%20b.git", "https://bücher.example/git/npub1/a+b.git"}},
	} {
		s, err := grasp.ParseService(tt.domain)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range tt.yes {
			if !s.Names(u, tt.path) {
				t.Errorf("%s: %q does not name %q", tt.domain, u, tt.path)
			}
		}
		for _, u := range tt.no {
			if s.Names(u, tt.path) {
				t.Errorf("%s: %q names %q", tt.domain, u, tt.path)
			}
		}
	}
	if s, err := grasp.ParseService("relay.example.org/a%20b/"); err != nil || s.Base() != "/a%20b" || s.Root() != "/a b" || !s.Names("https://relay.example.org/a%20b", s.Root()) {
		t.Errorf("%q, %v", s.Root(), err)
	}
	if (grasp.Service{}).Names("https:///", "") {
		t.Error("something names no service")
	}
}

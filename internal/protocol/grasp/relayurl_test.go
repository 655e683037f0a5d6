package grasp_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

var normalized = []struct{ name, in, want string }{
	{"as it should be", "wss://relay.example.org", "wss://relay.example.org"},
	{"case of scheme and host", "WSS://Relay.Example.ORG", "wss://relay.example.org"},
	{"trailing slash", "wss://relay.example.org/", "wss://relay.example.org"},
	{"several slashes", "wss://relay.example.org/base///", "wss://relay.example.org/base"},
	{"default port", "wss://relay.example.org:443/", "wss://relay.example.org"},
	{"default port of ws", "ws://relay.example.org:80", "ws://relay.example.org"},
	{"the other scheme's port stays", "wss://relay.example.org:80", "wss://relay.example.org:80"},
	{"the other scheme's port stays, ws", "ws://relay.example.org:443", "ws://relay.example.org:443"},
	{"https means its own port", "https://relay.example.org:443", "wss://relay.example.org"},
	{"leading zeros in the port", "wss://relay.example.org:0443", "wss://relay.example.org"},
	{"highest port", "wss://relay.example.org:65535", "wss://relay.example.org:65535"},
	{"fragment", "wss://relay.example.org/#top", "wss://relay.example.org"},
	{"query stays", "wss://relay.example.org/?a=1", "wss://relay.example.org?a=1"},
	{"empty query", "wss://relay.example.org/?", "wss://relay.example.org"},
	{"path keeps its case", "wss://relay.example.org/Base", "wss://relay.example.org/Base"},
	{"path stays escaped", "wss://relay.example.org/a%2Fb", "wss://relay.example.org/a%2Fb"},
	{"unicode path", "wss://relay.example.org/ü", "wss://relay.example.org/%C3%BC"},
	{"https", "https://relay.example.org", "wss://relay.example.org"},
	{"http", "HTTP://relay.example.org", "ws://relay.example.org"},
	{"no scheme", "relay.example.org", "wss://relay.example.org"},
	{"no scheme, port", "relay.example.org:7777", "wss://relay.example.org:7777"},
	{"no scheme, default port", "relay.example.org:443", "wss://relay.example.org"},
	{"no scheme, localhost", "localhost:7334", "ws://localhost:7334"},
	{"no scheme, localhost with port 80", "LOCALHOST:80", "ws://localhost"},
	{"no scheme, below localhost", "relay.localhost", "ws://relay.localhost"},
	{"no scheme, loopback", "127.0.0.1:7334", "ws://127.0.0.1:7334"},
	{"no scheme, loopback v6", "[::1]:7334", "ws://[::1]:7334"},
	{"no scheme, private", "192.168.1.1", "wss://192.168.1.1"},
	{"no scheme, scheme in the query", "relay.example.org/?u=ws://x", "wss://relay.example.org?u=ws://x"},
	{"surrounding space", " \twss://relay.example.org\r\n", "wss://relay.example.org"},
	{"international name", "wss://Bücher.example", "wss://xn--bcher-kva.example"},
	{"percent-encoded name", "wss://b%C3%BCcher.example", "wss://xn--bcher-kva.example"},
	{"punycode", "wss://XN--bcher-kva.example", "wss://xn--bcher-kva.example"},
	{"ideographic dot", "wss://relay。example.org", "wss://relay.example.org"},
	{"full-width digits are an address", "wss://１２７.0.0.1", "wss://127.0.0.1"},
	{"root dot", "wss://relay.example.org.", "wss://relay.example.org"},
	{"underscore", "wss://my_relay.example.org", "wss://my_relay.example.org"},
	{"number as a label", "wss://1.example", "wss://1.example"},
	{"one label", "wss://relay", "wss://relay"},
	{"IPv4", "wss://192.0.2.1:7777", "wss://192.0.2.1:7777"},
	{"IPv6", "wss://[2001:DB8:0:0::1]:443", "wss://[2001:db8::1]"},
	{"IPv4 in IPv6", "wss://[::ffff:192.0.2.1]", "wss://192.0.2.1"},
}

func TestNormalizeRelay(t *testing.T) {
	for _, tc := range normalized {
		t.Run(tc.name, func(t *testing.T) {
			got, err := grasp.NormalizeRelay(tc.in)
			if err != nil || got.String() != tc.want {
				t.Fatalf("NormalizeRelay(%q) = %q, %v; want %q", tc.in, got, err, tc.want)
			}
			again, err := grasp.NormalizeRelay(tc.want)
			if err != nil || again != got {
				t.Errorf("normalised again: %q, %v", again, err)
			}
		})
	}
}

func TestNormalizeRelayRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in string }{
		{"nothing", ""},
		{"space", " \n"},
		{"only a scheme", "wss://"},
		{"no host", "wss:///path"},
		{"scheme without slashes", "wss:relay.example.org"},
		{"scheme with one slash", "HTTPS:/relay.example.org"},
		{"no scheme but slashes", "//relay.example.org"},
		{"other scheme", "ftp://relay.example.org"},
		{"git", "git://relay.example.org"},
		{"javascript", "javascript://relay.example.org"},
		{"user", "wss://user@relay.example.org"},
		{"user and password", "wss://user:secret@relay.example.org"},
		{"empty user", "wss://@relay.example.org"},
		{"host after user", "wss://relay.example.org@evil.example"},
		{"user without scheme", "user@relay.example.org"},
		{"space inside", "wss://relay.example.org/a b"},
		{"two URLs", "wss://a.example,wss://b.example"},
		{"two URLs with a space", "wss://a.example wss://b.example"},
		{"tab inside", "wss://relay\t.example.org"},
		{"newline inside", "wss://relay.example.org/\nHost: x"},
		{"NUL", "wss://relay.example.org/\x00"},
		{"DEL", "wss://relay.example.org/\x7f"},
		{"escape", "wss://relay.example.org/\x1b[0m"},
		{"backslash", `wss://relay.example.org\@evil.example`},
		{"backslash in the path", `wss://relay.example.org/a\b`},
		{"backslash in the query", `wss://relay.example.org/?a\b`},
		{"invalid UTF-8", "wss://relay.example.org/\xff"},
		{"unicode in the query", "wss://relay.example.org/?ü"},
		{"bad escape", "wss://relay.example.org/%zz"},
		{"escaped ASCII in the host", "wss://%72elay.example.org"},
		{"percent in the host", "wss://relay%25.example.org"},
		{"port 0", "wss://relay.example.org:0"},
		{"port 65536", "wss://relay.example.org:65536"},
		{"no port", "wss://relay.example.org:"},
		{"named port", "wss://relay.example.org:https"},
		{"negative port", "wss://relay.example.org:-1"},
		{"two ports", "wss://relay.example.org:1:2"},
		{"signed port", "wss://relay.example.org:+443"},
		{"empty label", "wss://relay..example.org"},
		{"leading dot", "wss://.example.org"},
		{"two root dots", "wss://example.org.."},
		{"only a dot", "wss://."},
		{"hyphen first", "wss://-relay.example.org"},
		{"hyphen last", "wss://relay-.example.org"},
		{"other characters", "wss://relay$.example.org"},
		{"label too long", "wss://" + strings.Repeat("a", 64) + ".example"},
		{"name too long", "wss://" + strings.Repeat("a.", 127) + "example"},
		{"bad punycode", "wss://xn--a.example"},
		{"onion", "ws://expyuzz4wqqyqhjn.onion"},
		{"onion in capitals", "ws://EXPYUZZ4WQQYQHJN.ONION.:80"},
		{"i2p", "ws://relay.i2p"},
		{"loki", "ws://relay.loki"},
		{"short IPv4", "ws://127.1"},
		{"decimal IPv4", "ws://2130706433"},
		{"hex IPv4", "ws://0x7f000001"},
		{"hex in IPv4", "ws://127.0.0.0x1"},
		{"octal IPv4", "ws://0177.0.0.1"},
		{"five parts", "ws://1.2.3.4.5"},
		{"part above 255", "ws://1.2.3.256"},
		{"zone", "ws://[fe80::1%25eth0]"},
		{"IPv4 in brackets", "ws://[127.0.0.1]"},
		{"name in brackets", "ws://[localhost]"},
		{"open bracket", "ws://[::1"},
		{"text after brackets", "ws://[::1]x"},
		{"IPv6 without brackets", "ws://2001:db8::1"},
		{"too long before it is normal", "wss://relay.example.org/#" + strings.Repeat("a", grasp.MaxURL)},
		{"too long", "wss://relay.example.org/" + strings.Repeat("a", grasp.MaxURL)},
		{"too long once escaped", "wss://relay.example.org/" + strings.Repeat("ü", 200)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := grasp.NormalizeRelay(tc.in)
			if !errors.Is(err, grasp.ErrURL) || got != "" {
				t.Fatalf("NormalizeRelay(%q) = %q, %v", tc.in, got, err)
			}
		})
	}
}

func TestNormalizeRelayLength(t *testing.T) {
	head := "wss://relay.example.org/"
	longest := head + strings.Repeat("a", grasp.MaxURL-len(head))
	if got, err := grasp.NormalizeRelay(longest); err != nil || got.String() != longest {
		t.Errorf("%d bytes: %q, %v", len(longest), got, err)
	}
	if got, err := grasp.NormalizeRelay(longest + "a"); err == nil {
		t.Errorf("%d bytes: %q", len(longest)+1, got)
	}
}

func TestHost(t *testing.T) {
	for in, want := range map[grasp.RelayURL]string{
		"wss://relay.example.org":        "relay.example.org",
		"wss://relay.example.org:1/base": "relay.example.org",
		"ws://[2001:db8::1]:1":           "2001:db8::1",
		"nonsense://":                    "",
	} {
		if got := in.Host(); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// A stranger writes one relay in many ways and gets one connection.
func TestRelaysInManySpellings(t *testing.T) {
	a := &nip34.Announcement{Relays: []string{
		"wss://relay.example.org", "WSS://RELAY.example.org/", "wss://relay.example.org:443", "relay.example.org",
		"https://relay.example.org//", "wss://relay.example.org/#x", "wss://relay.example.org.", " wss://relay.example.org ",
		"wss://me@relay.example.org", "junk", "", "wss://other.example"}}
	want := []grasp.RelayURL{"wss://relay.example.org", "wss://junk", "wss://other.example"}
	if got := grasp.Relays(a, 20); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := grasp.Relays(a, 2); !slices.Equal(got, want[:2]) {
		t.Errorf("first two: %q", got)
	}
	for _, none := range []int{0, -1} {
		if got := grasp.Relays(a, none); len(got) != 0 {
			t.Errorf("first %d: %q", none, got)
		}
	}
}

func TestTenThousandRelays(t *testing.T) {
	a := &nip34.Announcement{}
	for i := range 10_000 {
		a.Relays = append(a.Relays, fmt.Sprintf("wss://r%d.example", i))
	}
	if got := grasp.Relays(a, 20); !slices.Equal(got[18:], []grasp.RelayURL{"wss://r18.example", "wss://r19.example"}) {
		t.Errorf("got %q", got)
	}
	for i := range 1000 {
		a.Relays[i] = "ftp://x"
	}
	if got := grasp.Relays(a, 20); len(got) != 0 {
		t.Errorf("looked past 1,000 values: %q", got)
	}
	a.Relays[999] = "wss://last.example"
	if got := grasp.Relays(a, 20); len(got) != 1 {
		t.Errorf("did not look at 1,000 values: %q", got)
	}
	a.Relays[1000] = "wss://relay.example.org"
	if service(t, "relay.example.org").Lists(a) {
		t.Error("Lists looked past 1,000 values")
	}
	a.Relays[999] = "wss://relay.example.org"
	if !service(t, "relay.example.org").Lists(a) {
		t.Error("Lists did not look at 1,000 values")
	}
}

// FuzzNormalizeRelay requires that what comes out is clean, goes in again unchanged, and is dialled as it reads.
func FuzzNormalizeRelay(f *testing.F) {
	for _, tc := range normalized {
		f.Add(tc.in)
	}
	f.Add("wss://relay.example.org/%2F/?a=%zz#\x00")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := grasp.NormalizeRelay(raw)
		if err != nil {
			if u != "" {
				t.Fatalf("%q with %v", u, err)
			}
			return
		}
		s := u.String()
		if len(s) > grasp.MaxURL || !strings.HasPrefix(s, "ws://") && !strings.HasPrefix(s, "wss://") {
			t.Fatalf("%q gives %q", raw, s)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' || r == '\\' }) {
			t.Fatalf("%q gives %q", raw, s)
		}
		if again, err := grasp.NormalizeRelay(s); err != nil || again != u {
			t.Fatalf("%q gives %q, then %q, %v", raw, u, again, err)
		}
		if strings.Contains(u.Host(), "@") || u.Host() == "" {
			t.Fatalf("%q gives %q with host %q", raw, u, u.Host())
		}
		if strings.Contains(s, "?") || len(s)+3 > grasp.MaxURL {
			return
		}
		if v, err := grasp.NormalizeRelay(s + "//#"); err != nil || v != u {
			t.Fatalf("%q with slashes and a fragment: %q, %v", u, v, err)
		}
	})
}

package relayconn_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// TestPortsOfOtherServices: strangers' URLs lead to the ports of the web and to those above 1023.
func TestPortsOfOtherServices(t *testing.T) {
	for _, tt := range []struct {
		url  grasp.RelayURL
		want string // dialed; "" = refused
	}{
		{"ws://relay.example", "1.1.1.1:80"},
		{"wss://relay.example", "1.1.1.1:443"},
		{"ws://relay.example:443", "1.1.1.1:443"},
		{"wss://relay.example:80", "1.1.1.1:80"},
		{"ws://relay.example:1024", "1.1.1.1:1024"},
		{"ws://relay.example:65535", "1.1.1.1:65535"},
		{"ws://1.1.1.1:8080", "1.1.1.1:8080"},
		{"ws://relay.example:1023", ""},
		{"ws://relay.example:22", ""},
		{"wss://relay.example:25", ""},
		{"ws://1.1.1.1:53", ""},
		{"ws://[2606:4700::1]:1", ""},
		{"ws://relay.example:79", ""},
		{"ws://relay.example:81", ""},
		{"ws://relay.example:442", ""},
		{"ws://relay.example:444", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := one(t, nil)
			_, err := relayconn.New(n.config()).Dial(t.Context(), tt.url)
			if got := strings.Join(n.attempts(), " "); got != tt.want || errors.Is(err, relayconn.ErrForbiddenAddress) != (tt.want == "") {
				t.Errorf("%s: dialed %q, %v", tt.url, got, err)
			}
			if _, err := relayconn.New(n.config()).Info(t.Context(), tt.url); tt.want == "" && !errors.Is(err, relayconn.ErrForbiddenAddress) {
				t.Errorf("%s, its document: %v", tt.url, err)
			}
			c := n.config()
			c.Exempt = func(grasp.RelayURL) bool { return true }
			if _, err := relayconn.New(c).Dial(t.Context(), tt.url); errors.Is(err, relayconn.ErrForbiddenAddress) {
				t.Errorf("%s, typed by the operator: %v", tt.url, err)
			}
		})
	}
}

// TestTheMachinesOwnAddresses are public ones, and not dialed for strangers.
func TestTheMachinesOwnAddresses(t *testing.T) {
	for _, tt := range []struct {
		url     grasp.RelayURL
		service string
		want    string // dialed; "" = refused
	}{
		{"ws://9.9.9.9:8080", "", ""},
		{"ws://9.9.9.9", "", ""},
		{"wss://[2606:4700::9]", "", ""},
		{"ws://here.example:8080", "", ""},
		{"ws://here.example", "", ""},
		{"ws://both.example", "", "1.1.1.1:80"},
		{"ws://9.9.9.8:8080", "", "9.9.9.8:8080"},

		{"ws://8.8.8.8:8080", "git.example", ""},
		{"ws://alias.example:8080", "git.example", ""},
		{"ws://mapped.example:8080", "git.example", ""},
		{"ws://alias.example", "git.example", "8.8.8.8:80"}, // another site behind the same front
		{"wss://8.8.8.8", "git.example", "8.8.8.8:443"},
		{"ws://8.8.8.8:8080", "", "8.8.8.8:8080"},
		{"ws://8.8.8.8:8080", "unknown.example", "8.8.8.8:8080"},
		{"ws://7.7.7.7:8080", "7.7.7.7", ""},
		{"ws://7.7.7.6:8080", "7.7.7.7", "7.7.7.6:8080"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := one(t, nil)
			for name, addrs := range map[string][]string{
				"here.example": {"9.9.9.9", "2606:4700::9"}, "both.example": {"9.9.9.9", "1.1.1.1"}, "git.example": {"8.8.8.8"},
				"alias.example": {"8.8.8.8"}, "mapped.example": {"::ffff:8.8.8.8"},
			} {
				n.names[name] = addrs
			}
			c := n.config()
			c.Net.Service = tt.service
			c.Net.Interfaces = func() ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:9.9.9.9"), netip.MustParseAddr("2606:4700::9%eth0")}, nil
			}
			_, err := relayconn.New(c).Dial(t.Context(), tt.url)
			if got := strings.Join(n.attempts(), " "); got != tt.want || errors.Is(err, relayconn.ErrForbiddenAddress) != (tt.want == "") {
				t.Errorf("%s, service %q: dialed %q, %v", tt.url, tt.service, got, err)
			}
			if tt.want == "" && !strings.Contains(err.Error(), "this machine") {
				t.Error(err)
			}
			c.Exempt = func(grasp.RelayURL) bool { return true }
			if _, err := relayconn.New(c).Dial(t.Context(), tt.url); errors.Is(err, relayconn.ErrForbiddenAddress) {
				t.Errorf("%s, typed by the operator: %v", tt.url, err)
			}
		})
	}
}

// TestOwnAddressesAreRemembered for a minute, and for longer while they cannot be found out.
func TestOwnAddressesAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, nil)
		asked, fails := 0, false
		mine := []netip.Addr{netip.MustParseAddr("9.9.9.9")}
		c := n.config()
		c.Net.Interfaces = func() ([]netip.Addr, error) {
			asked++
			if fails {
				return nil, errors.New("no such thing")
			}
			return mine, nil
		}
		c.Net.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
		d := relayconn.New(c)
		forbidden := func(u grasp.RelayURL) bool {
			_, err := d.Dial(t.Context(), u)
			return errors.Is(err, relayconn.ErrForbiddenAddress)
		}
		for range 10 {
			if !forbidden("ws://9.9.9.9") || forbidden("ws://9.9.9.8") {
				t.Error("not told apart")
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		mine = append(slices.Clone(mine), netip.MustParseAddr("9.9.9.8"))
		time.Sleep(time.Minute)
		if !forbidden("ws://9.9.9.8") || asked != 2 {
			t.Errorf("a new address after a minute: asked %d times", asked)
		}
		fails = true
		time.Sleep(time.Hour)
		if !forbidden("ws://9.9.9.8") || forbidden("ws://9.9.9.7") {
			t.Error("not as it was known last")
		}
	})
}

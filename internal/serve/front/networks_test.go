package front_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/serve/front"
)

// TestConnectionsOfManyAddresses: some connections are kept for addresses that have few.
func TestConnectionsOfManyAddresses(t *testing.T) {
	v := front.NewVisitors(front.Rates{Connections: 1000, Open: 100, OpenTotal: 800}, time.Now, false)
	taken := 0
	for n := range 10 {
		for range 100 {
			if _, _, err := v.Arrive(address(n)); err == nil {
				taken++
			}
		}
	}
	if taken != 700+3*8 { // the last three have a few of what is kept
		t.Errorf("%d connections of ten addresses", taken)
	}
	for n := range 9 {
		for range 8 {
			if _, _, err := v.Arrive(address(100 + n)); err != nil {
				t.Fatalf("newcomer %d: %v", n, err)
			}
		}
	}
}

// TestNetworksOfIPv6: the addresses of one /48 have together four times what one has, in rates and connections.
func TestNetworksOfIPv6(t *testing.T) {
	at := &clock{time.Unix(1000, 0)}
	rates := front.Rates{Connections: 10, Open: 10, Events: 10}
	addr := func(network, n int) string { return fmt.Sprintf("2001:db8:%x:%x::1", network, n) }
	count := func(v *front.Visitors, network int, ask func(addr string) bool) (ok int) {
		for n := range 50 {
			for range 200 {
				if ask(addr(network, n)) {
					ok++
				}
			}
		}
		return ok
	}
	t.Run("open connections", func(t *testing.T) {
		v := front.NewVisitors(rates, at.now, false)
		arrive := func(addr string) bool { _, _, err := v.Arrive(addr); return err == nil }
		if n := count(v, 1, arrive); n != 40 {
			t.Errorf("%d of one network", n)
		}
		if n := count(v, 2, arrive); n != 40 {
			t.Errorf("%d of another", n)
		}
	})
	t.Run("half of a pool", func(t *testing.T) {
		v := front.NewVisitors(front.Rates{Connections: 1000, Open: 100, OpenTotal: 300}, at.now, false)
		if n := count(v, 1, func(addr string) bool { _, _, err := v.Arrive(addr); return err == nil }); n != 150 {
			t.Errorf("%d connections of one network, where all have 300", n)
		}
	})
	t.Run("new connections", func(t *testing.T) {
		v := front.NewVisitors(rates, at.now, false)
		arrive := func(addr string) bool {
			_, depart, err := v.Arrive(addr)
			depart()
			return err == nil
		}
		if n := count(v, 1, arrive); n != 400 {
			t.Errorf("a burst of %d of one network", n)
		}
		at.advance(time.Second)
		if n := count(v, 1, arrive); n != 40 {
			t.Errorf("%d a second later", n)
		}
	})
	t.Run("connections of any kind", func(t *testing.T) {
		v := front.NewVisitors(rates, at.now, false)
		if n := count(v, 1, func(addr string) bool { return v.Connect(addr) }); n != 440 {
			t.Errorf("%d of one network", n)
		}
	})
	t.Run("events", func(t *testing.T) {
		v := front.NewVisitors(rates, at.now, false)
		n := 0
		for i := range 50 {
			one, _, err := v.Arrive(addr(1, i))
			if err != nil {
				break
			}
			for range 200 {
				if one.MayPublish() {
					n++
				}
			}
		}
		if n != 400 {
			t.Errorf("%d of one network", n)
		}
	})
	t.Run("events of addresses that are forgotten", func(t *testing.T) {
		v := front.NewVisitors(rates, at.now, false)
		for n := range front.MaxVisitors - 50 {
			v.Find(fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255))
		}
		publish := func(addresses, from, each int) (ok int) {
			for i := range addresses {
				one := v.Find(addr(1, from+i))
				for range each {
					if one.MayPublish() {
						ok++
					}
				}
			}
			return ok
		}
		publish(4, 0, 100) // all that the network has
		at.advance(5 * time.Second)
		publish(4, 4, 50) // all that it has again
		at.advance(6 * time.Second)
		for n := range 50 {
			v.Find(fmt.Sprintf("11.0.0.%d", n))
		}
		if n := v.Len(); n > 50 {
			t.Fatalf("%d addresses", n)
		}
		// Each address is as if it had never come, and the network has what came back in 6 s.
		if n := publish(8, 0, 100); n != 240 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("forgotten", func(t *testing.T) {
		v := front.NewVisitors(front.Rates{}, at.now, false)
		for n := range front.MaxVisitors {
			_, depart, err := v.Arrive(fmt.Sprintf("2001:db8:%x:%x::1", n/10, n%10))
			if err != nil {
				t.Fatal(err)
			}
			depart()
		}
		at.advance(time.Minute)
		v.Arrive("198.51.100.1")
		if n, networks := v.Len(), v.Networks(); n != 1 || networks != 0 {
			t.Errorf("%d addresses, %d networks", n, networks)
		}
	})
}

// TestOpenConnectionsOfAForgottenAddress: what an address has open counts also when its rates are like new and forgotten.
func TestOpenConnectionsOfAForgottenAddress(t *testing.T) {
	at := &clock{time.Unix(1000, 0)}
	v := front.NewVisitors(front.Rates{Connections: 1000, Open: 1}, at.now, false)
	if _, _, err := v.Arrive(address(0)); err != nil {
		t.Fatal(err)
	}
	for n := range front.MaxVisitors {
		v.Find(fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255))
	}
	at.advance(time.Minute)
	v.Find("198.51.99.1")
	if _, _, err := v.Arrive(address(0)); v.Len() > 3 || err != front.ErrTooManyOpen {
		t.Errorf("%d addresses: %v", v.Len(), err)
	}
}

// address is one of many strangers'.
func address(n int) string { return fmt.Sprintf("198.51.%d.%d", 100+n/200, n%200) }

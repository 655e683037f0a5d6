package front_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/serve/front"
)

// clock is a time that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func TestVisitors(t *testing.T) {
	start := &clock{time.Unix(1000, 0)}
	arrivals := func(v *front.Visitors, addr string, n int) (ok int) {
		for range n {
			if _, depart, err := v.Arrive(addr); err == nil {
				depart()
				ok++
			}
		}
		return ok
	}
	rates := front.Rates{Connections: 2}
	tests := []struct {
		name    string
		proxied bool
		do      func(t *testing.T, v *front.Visitors, c *clock)
	}{
		{"burst, then rate", false, func(t *testing.T, v *front.Visitors, c *clock) {
			if n := arrivals(v, "198.51.100.1", 100); n != 20 {
				t.Errorf("burst of %d", n)
			}
			c.advance(3 * time.Second)
			if n := arrivals(v, "198.51.100.1", 100); n != 6 {
				t.Errorf("%d after 3 s", n)
			}
			c.advance(time.Hour)
			if n := arrivals(v, "198.51.100.1", 100); n != 20 {
				t.Errorf("burst of %d after an hour", n)
			}
		}},
		{"addresses are apart", false, func(t *testing.T, v *front.Visitors, c *clock) {
			arrivals(v, "198.51.100.1", 100)
			if n := arrivals(v, "198.51.100.2", 100); n != 20 {
				t.Errorf("%d from another address", n)
			}
		}},
		{"an IPv6 /64 is one", false, func(t *testing.T, v *front.Visitors, c *clock) {
			arrivals(v, "2001:db8::1", 100)
			if n := arrivals(v, "2001:db8::2:3:4:5", 100); n != 0 {
				t.Errorf("%d from the same /64", n)
			}
			if n := arrivals(v, "2001:db8:0:1::1", 100); n != 20 {
				t.Errorf("%d from another /64", n)
			}
		}},
		{"loopback is exempt", false, func(t *testing.T, v *front.Visitors, c *clock) {
			if n := arrivals(v, "127.0.0.1", 100) + arrivals(v, "::1", 100); n != 200 {
				t.Errorf("%d of 200 from loopback", n)
			}
		}},
		{"loopback is not exempt behind a proxy", true, func(t *testing.T, v *front.Visitors, c *clock) {
			if n := arrivals(v, "127.0.0.1", 100); n != 20 {
				t.Errorf("%d from loopback", n)
			}
		}},
		{"a clock that goes back refills nothing and blocks nothing for ever", false, func(t *testing.T, v *front.Visitors, c *clock) {
			arrivals(v, "198.51.100.1", 10)
			c.advance(-24 * time.Hour)
			if n := arrivals(v, "198.51.100.1", 100); n != 10 {
				t.Errorf("%d of the burst are left", n)
			}
			c.advance(time.Second)
			if n := arrivals(v, "198.51.100.1", 100); n != 2 {
				t.Errorf("%d a second later", n)
			}
		}},
		{"the table is bounded", false, func(t *testing.T, v *front.Visitors, c *clock) {
			addr := netip.MustParseAddr("10.0.0.0")
			for range front.MaxVisitors {
				addr = addr.Next()
				arrivals(v, addr.String(), 1)
			}
			if n := arrivals(v, "198.51.100.1", 100) + arrivals(v, "198.51.100.2", 100); n != 20 {
				t.Errorf("%d of those beyond the table, who share one burst", n)
			}
			if v.Len() != front.MaxVisitors {
				t.Errorf("%d addresses in the table", v.Len())
			}
			c.advance(time.Minute)
			if n := arrivals(v, "198.51.100.1", 100); n != 20 || v.Len() != 1 {
				t.Errorf("%d arrivals, %d addresses after a minute", n, v.Len())
			}
		}},
		{"those with connections of any kind are kept", false, func(t *testing.T, v *front.Visitors, c *clock) {
			for v.Connect("198.51.100.1") {
			}
			addr := netip.MustParseAddr("10.0.0.0")
			for range front.MaxVisitors - 1 {
				addr = addr.Next()
				v.Find(addr.String())
			}
			c.advance(time.Minute)
			if v.Find("198.51.100.2"); v.Len() != 2 {
				t.Errorf("%d addresses", v.Len())
			}
			if v.Connect("198.51.100.1") {
				t.Error("an address has more than it may have")
			}
		}},
		{"those who are served are kept", false, func(t *testing.T, v *front.Visitors, c *clock) {
			one, leave := v.Visit("198.51.100.1")
			addr := netip.MustParseAddr("10.0.0.0")
			fill := func() {
				for v.Len() < front.MaxVisitors {
					addr = addr.Next()
					v.Find(addr.String())
				}
				c.advance(time.Minute)
				addr = addr.Next()
				v.Find(addr.String())
			}
			if fill(); v.Len() != 2 || v.Find("198.51.100.1") != one {
				t.Errorf("%d addresses", v.Len())
			}
			leave()
			if fill(); v.Find("198.51.100.1") == one {
				t.Error("who has left is still there")
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := *start
			tt.do(t, front.NewVisitors(rates, c.now, tt.proxied), &c)
		})
	}
}

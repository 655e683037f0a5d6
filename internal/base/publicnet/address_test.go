package publicnet_test

import (
	"net/netip"
	"testing"

	"github.com/graspd/graspd/internal/base/publicnet"
)

func TestPublic(t *testing.T) {
	for _, tt := range []struct {
		name   string
		public bool
		addrs  []string
	}{
		{"public", true, []string{"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
			"128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "198.17.255.255", "198.20.0.0",
			"223.255.255.255", "2000::", "2606:4700::1111", "2001:200::1", "2a01:4f8::1", "3fff:1000::1"}},
		{"this network and unspecified", false, []string{"0.0.0.0", "0.0.0.1", "0.255.255.255", "::"}},
		{"private", false, []string{"10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", "fc00::1", "fdff::1"}},
		{"loopback", false, []string{"127.0.0.1", "127.255.255.254", "::1"}},
		{"link-local", false, []string{"169.254.0.1", "169.254.169.254", "fe80::1", "febf::1"}},
		{"zone", false, []string{"fe80::1%eth0", "2606:4700::1111%eth0"}},
		{"carrier", false, []string{"100.64.0.0", "100.100.100.200", "100.127.255.255"}},
		{"metadata", false, []string{"168.63.129.16", "192.0.0.192", "fd00:ec2::254"}},
		{"documentation", false, []string{"192.0.2.1", "198.51.100.255", "203.0.113.7", "2001:db8::1", "3fff::1", "3fff:fff:ffff::1"}},
		{"benchmark", false, []string{"198.18.0.0", "198.19.255.255", "2001:2::1"}},
		{"multicast and broadcast", false, []string{"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1", "ff0e::1"}},
		{"4in6", false, []string{"::ffff:127.0.0.1", "::ffff:8.8.8.8", "::8.8.8.8", "::ffff:0:8.8.8.8"}},
		{"NAT64", false, []string{"64:ff9b::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1"}},
		{"6to4 and Teredo", false, []string{"2002:7f00:1::1", "2002:808:808::1", "2001::1", "2001:0:53aa:64c::1", "192.88.99.1"}},
		{"discard, site-local, unassigned", false, []string{"100::1", "fec0::1", "4000::1", "1fff::1", "5f00::1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range tt.addrs {
				if got := publicnet.Public(netip.MustParseAddr(s)); got != tt.public {
					t.Errorf("Public(%s) = %v", s, got)
				}
			}
		})
	}
	if publicnet.Public(netip.Addr{}) {
		t.Error("no address at all is public")
	}
}

package main

import "net/netip"

// Networks of loopback, by who is on them. Every party has an address of its own, and with it allowances of its own.
const (
	honestNet   = 1
	newcomerNet = 2
	attackerNet = 10 // the attackers
	helperNet   = 11 // those who made ready what the attack needs
	relayNet    = 12 // other relays
)

// proxy is the one address whose X-Forwarded-For is believed.
var proxy = netip.AddrFrom4([4]byte{127, 255, 0, 1})

// on is the nth address of a network.
func on(network byte, n int) netip.Addr {
	n++ // not the address of the network itself
	return netip.AddrFrom4([4]byte{127, network, byte(n >> 8), byte(n)})
}

// customers are addresses in n networks of 64 bits, all of which belong to one customer with 48.
func customers(n int) (all []netip.Addr) {
	for i := range n {
		all = append(all, netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 4: 1, 5: 1, 6: byte(i >> 8), 7: byte(i), 15: 1}))
	}
	return all
}

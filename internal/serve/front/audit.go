package front

import (
	"fmt"
	"maps"
	"slices"
)

// Turns returns how many addresses have a client whose turn it is, and how many clients of IPv6 networks have their turn.
func (f *Front) Turns() (addresses, networks int) {
	v := f.visitors
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, one := range v.byAddr {
		addresses += len(one.turn)
	}
	for _, n := range v.networks {
		networks += len(n.turns)
	}
	return addresses, networks
}

// HoldTurn takes the turn of an address until release.
func (f *Front) HoldTurn(addr string) (release func()) {
	f.visitors.mu.Lock()
	one := f.visitors.find(parseAddr(addr))
	f.visitors.mu.Unlock()
	one.turn <- struct{}{}
	return func() { <-one.turn }
}

// Unreturned names every account that is not as it was before the first client came. Call it on a front whose clients have all left.
func (f *Front) Unreturned() (out []string) {
	v := f.visitors
	v.mu.Lock()
	defer v.mu.Unlock()
	check := func(what string, n int) {
		if n != 0 {
			out = append(out, fmt.Sprintf("%s: %d", what, n))
		}
	}
	usages := slices.Collect(maps.Values(v.networks))
	for _, one := range append(slices.Collect(maps.Values(v.byAddr)), v.rest) {
		usages = append(usages, one.own)
		check("turns of an address", len(one.turn))
	}
	for _, a := range v.accounts {
		out = append(out, a.Unreturned()...)
	}
	for _, s := range usages {
		check("connections of any kind", s.raw)
		check("requests", s.visits)
		check("turns of a network", len(s.turns))
	}
	return out
}

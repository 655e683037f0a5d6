package refs

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

const hour = int64(time.Hour / time.Second)

// tally counts what some uploads hold, and how many tips began within the last hour, whatever became of them.
type tally struct {
	tips  int
	begun int
	bytes int64
}

// tallies holds a tally for each repository, each address and each network, and one of all uploads.
type tallies struct {
	at    map[nip34.Address]tally
	from  map[string]tally // by address
	net   map[string]tally // by network
	all   tally
	begun []beginning // in order, within an hour of the last
}

type beginning struct {
	at   int64
	from From
	tips int
}

// room returns the bound that leaves no room for one more tip of a push of which taken tips are accepted already; None where there is room.
func (p *Pending) room(now int64, of nip34.Address, from From, taken int) Cause {
	if taken >= MaxPushTips {
		return PendingPush
	}
	if p == nil {
		return None
	}
	at, by, net, all := p.at[of], p.from[from.Address], p.net[from.Network], p.all
	for _, b := range p.begun {
		if b.at > now-hour {
			break
		}
		all.begun -= b.tips
		if b.from.Address == from.Address {
			by.begun -= b.tips
		}
		if b.from.Network == from.Network {
			net.begun -= b.tips
		}
	}
	switch {
	case at.tips+taken >= MaxRepositoryTips || at.bytes >= MaxRepositoryBytes:
		return PendingRepository
	case by.begun+taken >= MaxAddressTips || by.bytes >= MaxAddressBytes:
		return PendingAddress
	case net.begun+taken >= MaxNetworkTips || net.bytes >= MaxNetworkBytes:
		return PendingNetwork
	case all.tips+taken >= MaxTips || all.begun+taken >= MaxHourTips || all.bytes >= MaxPendingBytes:
		return PendingAll
	}
	return None
}

// tooMuch returns the bound that the bytes of an upload break, alone or with the bytes of others; None where they break none.
func (t *tallies) tooMuch(u *upload) Cause {
	switch {
	case t.at[u.of].bytes > MaxRepositoryBytes:
		return PendingRepository
	case t.from[u.from.Address].bytes > MaxAddressBytes:
		return PendingAddress
	case t.net[u.from.Network].bytes > MaxNetworkBytes:
		return PendingNetwork
	case t.all.bytes > MaxPendingBytes:
		return PendingAll
	}
	return None
}

// count adds d to the tallies of an upload's repository, address and network, and to the tally of all.
func (t *tallies) count(u *upload, d tally) {
	if t.at == nil {
		t.at, t.from, t.net = map[nip34.Address]tally{}, map[string]tally{}, map[string]tally{}
	}
	t.all = t.all.plus(d)
	put(t.at, u.of, d)
	t.put(u.from, d)
}

// put adds d to the tallies of an address and its network.
func (t *tallies) put(from From, d tally) {
	put(t.from, from.Address, d)
	if from.Network != "" {
		put(t.net, from.Network, d)
	}
}

// countBegun counts tips that a push begins now, and takes out those that began an hour ago or earlier.
func (t *tallies) countBegun(now int64, from From, tips int) {
	for len(t.begun) > 0 && t.begun[0].at <= now-hour {
		t.hour(t.begun[0].from, -t.begun[0].tips)
		t.begun = t.begun[1:]
	}
	t.begun = append(t.begun, beginning{now, from, tips})
	t.hour(from, tips)
}

// uncountBegun takes back the last count of so many tips from there.
func (t *tallies) uncountBegun(from From, tips int) {
	for i := len(t.begun) - 1; i >= 0; i-- {
		if b := t.begun[i]; b.from == from && b.tips == tips {
			t.begun = slices.Delete(t.begun, i, i+1)
			t.hour(from, -tips)
			return
		}
	}
}

func (t *tallies) hour(from From, tips int) {
	t.all.begun += tips
	t.put(from, tally{begun: tips})
}

func (t tally) plus(d tally) tally {
	return tally{t.tips + d.tips, t.begun + d.begun, t.bytes + d.bytes}
}

// put adds d to the tally of k, and removes an empty tally.
func put[K comparable](m map[K]tally, k K, d tally) {
	if sum := m[k].plus(d); sum != (tally{}) {
		m[k] = sum
	} else {
		delete(m, k)
	}
}

package front

import (
	"cmp"
	"time"

	"github.com/graspd/graspd/internal/bucket"
)

// burstSeconds is how many seconds' worth a full bucket holds.
const burstSeconds = 10

// Rates bound what comes from one address (one /64 of IPv6), with bursts of ten times a second's worth. The addresses of an
// IPv6 /48 have four times as much together. A zero field takes the default that stands beside it.
type Rates struct {
	Connections int // 50: new WebSocket connections a second
	Events      int // 200: published events a second
	Requests    int // 100: all other messages a second, and their work at 5,000 steps each, and beside them as much work of deciding events; beyond that they wait
	Bytes       int // 2 MiB: of all that is sent here, a second; beyond that it is read no faster
	Open        int // 1,000: WebSocket connections at the same time
	OpenTotal   int // 20,000: the same, from all addresses together
}

func (r Rates) withDefaults() Rates {
	return Rates{
		Connections: cmp.Or(r.Connections, 50),
		Events:      cmp.Or(r.Events, 200),
		Requests:    cmp.Or(r.Requests, 100),
		Bytes:       cmp.Or(r.Bytes, 2<<20),
		Open:        cmp.Or(r.Open, 1000),
		OpenTotal:   cmp.Or(r.OpenTotal, 20_000),
	}
}

// of gives the rate of a kind of bucket, for so many addresses together.
func (r Rates) of(kind, addresses int) bucket.Rate {
	n := addresses * [bucketKinds]int{
		connecting: r.Connections, publishing: r.Events, requesting: r.Requests, receiving: r.Bytes, deciding: r.Requests, controlling: r.Requests,
	}[kind]
	return bucket.Rate{Tokens: n, In: time.Second, Burst: burstSeconds * n}
}

package front

import (
	"cmp"
	"math"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
)

// burstSeconds is for how many seconds a full bucket lasts at its rate.
const burstSeconds = 10

// Rates bound what comes from one address (one /64 of IPv6), with bursts of ten times a second's worth. The addresses of an
// IPv6 /48 have four times as much together. A field that is zero has the default beside it.
type Rates struct {
	Connections int // 50: new WebSocket connections a second
	Events      int // 200: published events a second
	Requests    int // 100: all other messages a second, with 5,000 steps of work each, and as much work again for deciding events; beyond that they wait
	Bytes       int // 2 MiB: bytes a second that the relay reads
	Open        int // 1,000: WebSocket connections at the same time
	OpenTotal   int // 20,000: WebSocket connections at the same time from all addresses together
	AnyTotal    int // without a bound: connections of any kind at the same time from all addresses together
}

func (r Rates) withDefaults() Rates {
	return Rates{
		Connections: cmp.Or(r.Connections, 50),
		Events:      cmp.Or(r.Events, 200),
		Requests:    cmp.Or(r.Requests, 100),
		Bytes:       cmp.Or(r.Bytes, 2<<20),
		Open:        cmp.Or(r.Open, 1000),
		OpenTotal:   cmp.Or(r.OpenTotal, 20_000),
		AnyTotal:    cmp.Or(r.AnyTotal, math.MaxInt32),
	}
}

// of returns the rate of a kind of bucket, for so many addresses together.
func (r Rates) of(kind, addresses int) bucket.Rate {
	n := addresses * [bucketKinds]int{
		connecting: r.Connections, publishing: r.Events, requesting: r.Requests, receiving: r.Bytes, deciding: r.Requests, controlling: r.Requests,
	}[kind]
	return bucket.Rate{Tokens: n, In: time.Second, Burst: burstSeconds * n}
}

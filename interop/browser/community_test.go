package browser

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/store"
)

// relayOf is one of a hundred relays, each in its own state.
func relayOf(i int) status.Relay {
	covered := 1 - float64(i%9)/100
	r := status.Relay{URL: grasp.RelayURL(fmt.Sprintf("wss://relay%02d.example.net", i)),
		Phase: "live", Health: status.Healthy, Connected: true, Bootstrap: i == 3, Want: status.Count{Repositories: 50, Roots: 2500},
		Confirmed: status.Count{Repositories: 50, Roots: 2500}, LiveREQs: 8, Negentropy: "works", Coverage: &covered,
		Uptime:   new(float64(90+i%10) / float64(90+i%10+i%11)),
		Counters: status.Counters{Sources: status.Sources{Live: uint64(i * 7), Catchup: 7400}, Gaps: uint64(i % 7 / 6)},
	}
	switch {
	case i%10 == 4:
		r.Phase, r.Confirmed.Roots, r.InFlight = "syncing", 2500*i/100, 40
	case i%10 == 7:
		r.Phase, r.Connected, r.Health, r.Failures, r.NextAttempt = "waiting", false, status.Degraded, 4, in(90*time.Second)
	case i%17 == 16:
		r.Phase, r.Connected, r.Health, r.Failures, r.NextAttempt = "waiting", false, status.Dead, 61, in(20*time.Hour)
	}
	return r
}

// in is the moment in so much time.
func in(d time.Duration) status.Moment { return status.Moment{Time: time.Now().Add(d)} }

// community is what the page shows: a hundred relays, a thousand repositories.
type community struct {
	live    atomic.Int64
	clients atomic.Int64
	retried chan grasp.RelayURL
}

func (c *community) Relays(context.Context) (out []status.Relay) {
	for i := range 100 {
		r := relayOf(i)
		if i == 0 {
			r.Counters.Live = uint64(c.live.Add(1)) // something is new whenever it is asked
		}
		out = append(out, r)
	}
	return out
}

func (*community) Ready(context.Context) (bool, []grasp.RelayURL) { return true, nil }

func (*community) Details(context.Context) map[grasp.RelayURL]plan.Details {
	out := map[grasp.RelayURL]plan.Details{}
	for i := range 100 {
		var d plan.Details
		for j := range 50 {
			n := (i*10 + j*21) % 1000
			part := plan.Part{Address: fmt.Sprintf("30617:%064x:%s-%d", n%40, []string{"ngit", "relay", "client", "tools"}[n%4], n), Roots: n % 300, Confirmed: 1 + n%300, Held: 100, Lacks: uint64(max(0, n%29-26))}
			if i%10 == 4 && j%5 == 0 {
				part.Confirmed /= 2
			}
			d.Parts = append(d.Parts, part)
		}
		if i%20 == 6 {
			d.Gaps = []plan.Gap{{Found: time.Now(), By: plan.Daily, ID: [32]byte{byte(i)}, Kind: 1111, Created: time.Now().Add(-time.Hour)}}
		}
		out[relayOf(i).URL] = d
	}
	return out
}

func (c *community) Retry(_ context.Context, u grasp.RelayURL) error {
	c.retried <- u
	return nil
}

type shelf struct{}

func (shelf) Stats() store.Stats {
	return store.Stats{Events: 151_000, Repositories: 1000, Head: 151_210, DiskBytes: 230 << 20}
}
func (shelf) Failure() error { return nil }
func (shelf) Room() error    { return nil }

type door struct{}

func (door) Stats() (s ingest.Stats) {
	s.Refused[policy.Unrelated][0], s.Refused[policy.Invalid][1], s.Refused[policy.Superseded][1] = 5210, 3, 811
	return s
}

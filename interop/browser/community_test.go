package browser

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/status"
)

// How large the community is.
const (
	relayCount      = 500
	repositoryCount = 10_000
)

// relayOf is one of the relays, each in its own state.
func relayOf(i int) status.Relay {
	covered := 1 - float64(i%9)/100
	r := status.Relay{URL: grasp.RelayURL(fmt.Sprintf("wss://relay%03d.example.net", i)),
		Phase: "live", Health: status.Healthy, Connected: true, Bootstrap: i == 3, Want: status.Count{Repositories: 100, Roots: 2500},
		Confirmed: status.Count{Repositories: 100, Roots: 2500}, LiveREQs: 8, Negentropy: "works", Coverage: &covered,
		Uptime:   new(float64(90+i%10) / float64(90+i%10+i%11)),
		Counters: status.Counters{Sources: status.Sources{Live: uint64(i * 7), Catchup: 7400}, Gaps: uint64(i % 7 / 6)},
	}
	switch {
	case i%10 == 4:
		r.Phase, r.Confirmed.Roots, r.InFlight = "syncing", 5*i, 40
	case i%10 == 7:
		r.Phase, r.Connected, r.Health, r.Failures, r.NextAttempt = "waiting", false, status.Degraded, 4, later
		r.Cause, r.FailingSince = "dial tcp 203.0.113.9:443: connect: connection refused", status.Moment{Time: begun.Add(-20 * time.Minute)}
	case i%17 == 16:
		r.Phase, r.Connected, r.Health, r.Failures, r.NextAttempt = "waiting", false, status.Dead, 61, muchLater
		r.Cause, r.FailingSince = "lookup relay: no such host", status.Moment{Time: begun.Add(-75 * time.Hour)}
	}
	return r
}

// in is the moment in so much time.
func in(d time.Duration) status.Moment { return status.Moment{Time: time.Now().Add(d)} }

// Moments of the community: engines tell the same one until an attempt was made.
var begun, later, muchLater = time.Now(), in(90 * time.Minute), in(20 * time.Hour)

// community is what the page shows: 500 relays, 10,000 repositories.
type community struct {
	live    atomic.Int64
	clients atomic.Int64
	healed  atomic.Bool // the relay that is first in the table is well
	retried chan grasp.RelayURL
}

func (c *community) Relays(context.Context) (out []status.Relay) {
	for i := range relayCount {
		r := relayOf(i)
		if i == 7 {
			r.Counters.Live = uint64(c.live.Add(1)) // something is new whenever it is asked
			if c.healed.Load() {
				r = relayOf(8)
				r.URL = relayOf(7).URL
			}
		}
		out = append(out, r)
	}
	return out
}

func (*community) Ready(context.Context) (bool, []grasp.RelayURL) { return true, nil }

func (*community) Details(context.Context) map[grasp.RelayURL]status.Details {
	out := map[grasp.RelayURL]status.Details{}
	for i := range relayCount {
		var d status.Details
		for j := range 100 {
			n := (i*20 + j*101) % repositoryCount
			part := status.Part{Address: fmt.Sprintf("30617:%064x:%s-%d", n%977, []string{"ngit", "relay", "client", "tools"}[n%4], n), Roots: n % 300, Confirmed: 1 + n%300, Here: 100, Lacks: uint64(max(0, n%29-26))}
			if i%10 == 4 && j%5 == 0 {
				part.Confirmed /= 2
			}
			d.Parts = append(d.Parts, part)
		}
		if i%100 == 6 {
			d.Gaps = []status.Gap{{Found: time.Now(), By: "daily", ID: [32]byte{byte(i)}, Kind: 1111, Created: time.Now().Add(-time.Hour)}}
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
func (shelf) Disk() (store.Disk, error) {
	return store.Disk{Free: 120 << 30, Floor: 1 << 30, Inodes: store.Inodes{Free: 9_000_000, All: 10_000_000}, InodeFloor: 10_000}, nil
}

type door struct{}

func (door) Stats() (s ingest.Stats) {
	s.Refused[policy.Unrelated][0], s.Refused[policy.Invalid][1], s.Refused[policy.Superseded][1] = 5210, 3, 811
	return s
}

func (door) LastRefused() []status.Refused { return nil }

// hosting is the relay as a host of repositories.
type hosting struct{}

func (hosting) Disk() *store.Disk                                      { return nil }
func (hosting) Room() error                                            { return nil }
func (hosting) Repositories(context.Context) map[string]status.GitLack { return nil }

func (hosting) Status() *status.Git {
	at := status.Moment{Time: begun.Add(time.Hour)}
	lack := status.GitLack{Address: "30617:aa4fc8665f5696e33db7e1a572e3b0f5b3d615837b0f362dcb1c8068b098c7b4:relay-1", Lacks: []status.GitNeed{{Event: "ab12", Objects: 3}},
		Servers: []status.GitServer{{URL: "https://git.example.net", Asked: status.Moment{Time: begun}, Error: "HTTP status 502"}, {URL: "https://code.example.net"}}}
	return &status.Git{
		Repositories: 9100, Bytes: 31 << 30, Pushes: 2, Fetches: 14, Waiting: 2, Uploads: 1,
		Waits:     []status.Wait{{ID: "ab12", Kind: 30618, Repository: "30617:aa4fc8665f5696e33db7e1a572e3b0f5b3d615837b0f362dcb1c8068b098c7b4:relay-1", Why: "until 2 branches and tags are complete here", Until: at}},
		Refused:   []status.Refusal{{At: at, Repository: "30617:aa4fc8665f5696e33db7e1a572e3b0f5b3d615837b0f362dcb1c8068b098c7b4:relay-1", Reason: "no state event for this push"}},
		Processes: []status.Processes{{Kind: "fetch", Running: 1, Ended: 40_000, Failed: 5}, {Kind: "upload", Running: 2, Ended: 900}},
		Sync:      &status.GitSync{Lacking: 1, Worst: []status.GitLack{lack}},
	}
}

// Stats are those of the relay's clients.
func (c *community) Stats() relay.Stats {
	return relay.Stats{Sessions: int(c.clients.Load()), Subscriptions: 230}
}

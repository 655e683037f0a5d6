package hosting_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// BenchmarkPushes is how long it takes to publish a state and to push its commit, for each of some people at once, and how many commits of a store on
// the disk that costs. The git data is in memory.
func BenchmarkPushes(b *testing.B) {
	for _, people := range []int{1, 8} {
		b.Run(fmt.Sprint(people, " at once"), func(b *testing.B) {
			w := newPushed(b, people)
			before := w.door.Stats().Commits
			began := time.Now()
			var all sync.WaitGroup
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			for _, p := range w.people {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						p.push(b)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64(w.door.Stats().Commits-before)/float64(b.N), "commits/op")
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "pushes/s")
		})
	}
}

// pushed is a relay to which people push, each to a repository of their own.
type pushed struct {
	door   *ingest.Door
	host   *hosting.Host
	people []*pusher
}

type pusher struct {
	w       *pushed
	client  *ingest.Source
	history gitfake.History
	key     nostr.PubKey
	of      nip34.Address
	tip     gitwire.ObjectID
	n       int64
}

func newPushed(b *testing.B, people int) *pushed {
	service := ok(grasp.ParseService("relay.example.org"))
	rules := policy.Rules{Service: service, Git: true}
	s := ok(store.Open(store.Options{Dir: b.TempDir(), FS: vfs.Default, Rules: rules.Fingerprint()}))
	c := hosting.Config{Disk: gitfake.New(), Store: s, Service: service, Limits: hosting.Limits{Repositories: 1 << 20}}
	c.Ledger = hosting.NewLedger(c)
	w := &pushed{door: ingest.New(ingest.Config{Store: s, Rules: rules, Verifier: anything{}, Ledger: c.Ledger})}
	c.Door = w.door
	w.host = hosting.New(c)
	var g sync.WaitGroup
	g.Go(func() { _ = w.door.Run(b.Context()) })
	g.Go(func() { _ = w.host.Run(b.Context()) })
	b.Cleanup(func() {
		g.Wait()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	for i := range people {
		pk := nostr.PubKey{1, byte(i)}
		p := &pusher{w: w, key: pk, of: nip34.Address{Kind: nip34.KindRepository, PubKey: pk, D: "tool"}}
		p.client = w.door.Source(ingest.SourceConfig{Label: fmt.Sprint(i), Direct: true})
		p.publish(b, nip34.KindRepository, nostr.Tag{"d", "tool"}, nostr.Tag{"clone", service.CloneURL(pk, "tool")}, nostr.Tag{"relays", service.RelayURL().String()})
		p.push(b)
		w.people = append(w.people, p)
	}
	return w
}

func (p *pusher) publish(b *testing.B, kind nostr.Kind, tags ...nostr.Tag) {
	p.n++
	e := &nostr.Event{PubKey: p.key, CreatedAt: 1_700_000_000 + p.n, Kind: kind, Tags: tags}
	e.ID = e.ComputeID()
	c := make(chan policy.Verdict, 1)
	if err := p.client.Submit(b.Context(), e, store.Direct, func(v policy.Verdict) { c <- v }); err != nil {
		b.Error(err)
		return
	}
	if v := <-c; !v.OK() {
		b.Errorf("%+v", v)
	}
}

// push publishes a state with one more commit, and pushes that.
func (p *pusher) push(b *testing.B) {
	old := p.tip
	var parents, haves []gitwire.ObjectID
	if !old.IsZero() {
		parents, haves = []gitwire.ObjectID{old}, []gitwire.ObjectID{old}
	}
	p.tip = p.history.Commit(fmt.Sprint(p.key, p.n), parents...)
	p.publish(b, nip34.KindState, nostr.Tag{"d", "tool"}, nostr.Tag{"HEAD", "ref: refs/heads/main"}, nostr.Tag{"refs/heads/main", p.tip.String()})
	pack := p.history.Pack(p.history.All([]gitwire.ObjectID{p.tip}, haves))
	got := p.w.host.Push(b.Context(), githttp.PushCall{Of: p.of, Network: fmt.Sprint(p.key), Progress: func(string) {}, Pack: bytes.NewReader(pack),
		Push: &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", Old: old, New: p.tip}}}})
	if got.Unpack != "" {
		b.Errorf("%+v", got)
	}
}

package peer_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// big is 1,000 repositories with 50,000 root events, all from one relay.
func big(t testing.TB) *fold {
	f := newFold(t)
	for i := range 1000 {
		f.AddAll(f.Announce(key(i), fmt.Sprint("repo", i), 1, []string{us, string(here), relay(2), relay(3), relay(4), relay(5)}))
	}
	for i := range 50_000 {
		f.AddAll(f.Issue(int64(i), address(key(i*i%1000), fmt.Sprint("repo", i*i%1000))))
	}
	f.Step()
	return f
}

func bigPeer(b testing.TB, f *fold) *driver {
	d := newDriver(b, peer.Config{})
	d.connect(f.Wants[here], capacity.Limits{})
	d.pass(time.Minute)
	if !d.peer.AllConfirmed() {
		b.Fatalf("not settled: %+v", d.peer.Status())
	}
	return d
}

// BenchmarkEvent is one event of a live REQ: received and decided.
func BenchmarkEvent(b *testing.B) {
	d := bigPeer(b, big(b))
	sub := d.requests(peer.Live)[0].Sub
	var id nostr.ID
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		binary.BigEndian.PutUint64(id[:], uint64(n))
		d.peer.Step(d.clock, peer.Received{Sub: sub, ID: id, At: int64(n)})
		d.peer.Step(d.clock, peer.Decided{Sub: sub, ID: id, Outcome: policy.Accept, New: true})
		d.peer.Wake()
	}
}

// BenchmarkNewRoot is one new root event, from the fold to the live REQ of one
// relay and the Wants of four others.
func BenchmarkNewRoot(b *testing.B) {
	f := big(b)
	d := bigPeer(b, f)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		e := f.Issue(int64(60_000+n), address(key(n%1000), fmt.Sprint("repo", n%1000)))
		d.pass(20 * time.Second)
		d.sent = d.sent[:0]
		b.StartTimer()
		f.Add(e)
		for u, w := range f.Changed(d.clock.Mono) {
			if u == here {
				d.peer.Step(d.clock, peer.Wanted{Want: w})
			}
		}
	}
}

// BenchmarkStart is everything between connecting and being settled, against a
// relay that has nothing.
func BenchmarkStart(b *testing.B) {
	f := big(b)
	b.ReportAllocs()
	for b.Loop() {
		bigPeer(b, f)
	}
}

// BenchmarkFold is reading what is stored at the start.
func BenchmarkFold(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		big(b)
	}
}

// The state of the engine for 1,000 repositories and 50,000 root events is about 10 MB.
func TestMemory(t *testing.T) {
	before := allocated()
	f := big(t)
	folded := allocated() - before
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: f.Wants[here]})
	wanted := allocated() - before - folded
	t.Logf("fold %d kB, one peer that wants it all %d kB", folded>>10, wanted>>10)
	if folded > 15<<20 || wanted > 1<<20 {
		t.Errorf("fold %d kB, one peer %d kB", folded>>10, wanted>>10)
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(d)
}

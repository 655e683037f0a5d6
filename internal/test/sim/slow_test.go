package sim_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// bucket is how a relay limits requests: so many at once, and so many a minute after that.
type bucket struct {
	most, perMinute float64
	byFilter        bool          // each filter of a REQ counts
	window          time.Duration // instead of by the minute all come back when it is over
	notice          bool          // it says so by a NOTICE

	mu         sync.Mutex
	at         time.Time
	has        float64
	n, refused int
}

// take takes what a REQ costs, and returns the frame by which the relay refuses it.
func (b *bucket) take(sub string, filters []nostr.Filter) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case b.at.IsZero():
		b.has, b.at = b.most, now
	case b.window > 0 && now.Sub(b.at) >= b.window:
		b.has, b.at = b.most, now
	case b.window == 0:
		b.has, b.at = min(b.most, b.has+now.Sub(b.at).Minutes()*b.perMinute), now
	}
	b.n++
	cost := 1.0
	if b.byFilter {
		cost = float64(len(filters))
	}
	if b.has < cost {
		b.refused++
		if b.notice {
			return string(nostr.AppendNotice(nil, "rate limited"))
		}
		return string(nostr.AppendClosed(nil, sub, "rate-limited: slow down"))
	}
	b.has -= cost
	return ""
}

// counts returns how many requests there were, and how many of them were refused.
func (b *bucket) counts() (n, refused int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n, b.refused
}

// needs is how long the relay makes n requests take at least.
func (b *bucket) needs(n int) time.Duration {
	if b.window > 0 {
		return time.Duration(float64(n)/b.most) * b.window
	}
	return time.Duration((float64(n) - b.most) / b.perMinute * float64(time.Minute))
}

// TestARelayThatLimitsRequests is complete within twice the time that it makes its requests take, and two pauses of 65 s;
// it refuses few.
func TestARelayThatLimitsRequests(t *testing.T) {
	for _, b := range []*bucket{
		{most: 5, perMinute: 20}, {most: 3, perMinute: 6}, {most: 1, perMinute: 30}, {most: 1, perMinute: 30, notice: true}, {most: 8, perMinute: 60},
		{most: 12, perMinute: 30, byFilter: true}, {most: 10, perMinute: 20, byFilter: true}, {most: 5, window: 30 * time.Second}, {most: 10, window: time.Minute, notice: true},
	} {
		t.Run(fmt.Sprint(b.most, b.perMinute, b.window, b.byFilter, b.notice), func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Neg, p.relay.Refuse = testkit.NegNotice, b.take
				x := p.project("proj", 90, p.relay.URL)
				p.relay.Store(x.all()...)
				p.here.Start()
				took := settle(t, p.here, time.Hour)
				p.here.WantStored(x.all()...)
				n, refused := b.counts()
				t.Logf("%d requests, %d refused, %v", n, refused, took)
				bound := 2*b.needs(n-refused) + 130*time.Second
				if b.notice { // which request is meant is known by its silence only
					bound += time.Duration(refused) * 30 * time.Second
				}
				if took > bound {
					t.Errorf("complete after %v, and not within %v", took, bound)
				}
				if refused > 8 {
					t.Errorf("%d of %d requests were refused", refused, n)
				}
				wait(2 * time.Hour)
				fresh := x.issueAt(p.w.Unix(), "one more")
				p.relay.Add(fresh)
				wait(2 * time.Second)
				p.here.WantStored(fresh)
			})
		})
	}
}

// TestARelayThatRefusesItsFirstRequests is complete after a pause for each, of which the second is short.
func TestARelayThatRefusesItsFirstRequests(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		var mu sync.Mutex
		n := 0
		p.relay.Refuse = func(sub string, _ []nostr.Filter) string {
			mu.Lock()
			defer mu.Unlock()
			if n++; n > 3 {
				return ""
			}
			return string(nostr.AppendClosed(nil, sub, "rate-limited: slow down"))
		}
		x := p.project("proj", 90, p.relay.URL)
		p.relay.Store(x.all()...)
		p.here.Start()
		if took := settle(t, p.here, time.Hour); took > 150*time.Second {
			t.Errorf("181 events take %v", took)
		}
		p.here.WantStored(x.all()...)
	})
}

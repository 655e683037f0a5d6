package sim_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/test/testkit"
)

// reader is a client that follows a repository over the network and counts what it is shown.
type reader struct {
	conn *relayconn.Conn
	seen map[nostr.ID]int
	done chan struct{}
}

func (p *pair) reader(t *testing.T, address string) *reader {
	t.Helper()
	d := relayconn.New(relayconn.Config{Net: publicnet.Config{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		host, _, _ := strings.Cut(to, ":")
		return p.w.Net.Dial(ctx, "reader", host)
	}}})
	c, err := d.Dial(t.Context(), p.here.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{conn: c, seen: make(map[nostr.ID]int), done: make(chan struct{})}
	if err := c.Write(t.Context(), nostr.AppendReq(nil, "s", nostr.Filter{Tags: []nostr.TagFilter{{Name: 'a', Values: []string{address}}}})); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		for {
			b, err := c.Read(context.Background())
			if err != nil {
				return
			}
			if m, err := nostr.ParseRelay(b); err == nil {
				if e, is := m.(nostr.RelayEvent); is {
					r.seen[e.Event.ID]++
				}
			}
		}
	}()
	return r
}

// TestABurstFromOneRelay: clients that publish meanwhile are answered at once, and who follows the feed is shown every
// event, once.
func TestABurstFromOneRelay(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		const burst = 4000 / slower
		p.relay.Neg = testkit.NegNotice
		x := p.project("proj", burst, p.relay.URL)
		p.relay.Store(x.issues...)
		p.here.Start()
		wait(time.Second)
		if v := p.here.Publish(x.ann); !v.OK() {
			t.Fatal(v)
		}
		r := p.reader(t, x.ann.Address())
		published, during := 0, 0
		for range 300 {
			begun := time.Now()
			if v := p.here.Publish(x.issueAt(p.w.Unix(), fmt.Sprint("published ", published))); !v.OK() {
				t.Fatal(v)
			}
			if took := time.Since(begun); took > 50*time.Millisecond {
				t.Errorf("a client waited %v", took)
			}
			published++
			if n := p.here.Store().Stats().Events; n > 100 && n < burst-100 {
				during++
			}
			time.Sleep(50 * time.Millisecond)
		}
		wait(time.Minute)
		p.here.WantStored(x.issues...)
		_ = r.conn.Close("seen enough")
		<-r.done
		if during < 10 || len(r.seen) != burst+published {
			t.Errorf("%d of %d events were shown, %d publishes during the burst", len(r.seen), burst+published, during)
		}
		for id, n := range r.seen {
			if n != 1 {
				t.Errorf("%s was shown %d times", id, n)
			}
		}
	})
}

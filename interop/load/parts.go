package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

var (
	owner      = nostr.SecretKey{0: 1, 31: 1}
	author     = nostr.SecretKey{0: 1, 31: 2}
	repository = sign(owner, 30617, nostr.Tag{"d", "load"}, nostr.Tag{"relays", "wss://" + domain})
)

func sign(by nostr.SecretKey, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{CreatedAt: time.Now().Unix(), Kind: kind, Tags: tags, Content: "an event of a load test"}
	if err := by.Sign(e, [32]byte{}); err != nil {
		panic(err) // key and event are our own
	}
	return e
}

// topics is how many different subjects the subscribers' filters are about.
const topics = 1000

func topic(n int) string { return fmt.Sprint("topic-", n%topics) }

// issue is about one topic, and unlike any other.
func issue(n int) *nostr.Event {
	return sign(author, 1621, nostr.Tag{"a", repository.Address()}, nostr.Tag{"t", topic(n)}, nostr.Tag{"n", fmt.Sprint(n, time.Now().UnixNano())})
}

// probe measures what a single client sees, who waits for each answer.
func (p plan) probe(ctx context.Context, g *process, c *client, when string) error {
	var d delays
	for i := range 200 {
		begun := time.Now()
		if err := c.publish(ctx, issue(i)); err != nil {
			return fmt.Errorf("%s: %w", when, err)
		}
		d.add(time.Since(begun))
	}
	g.report(when, "a publish until its OK: %s", d.take())
	return nil
}

// idlers opens connections that stay and do nothing, and counts those that end.
func (p plan) idlers(ctx context.Context, g *process) (gone *atomic.Int64, err error) {
	before, begun := g.status("VmRSS"), time.Now()
	gone = new(atomic.Int64)
	err = many(ctx, p.idle, 64, func(ctx context.Context, _ int) error {
		c, err := connect(ctx, g.url)
		if err == nil {
			go func() { // answers pings
				_, _ = c.Receive(context.WithoutCancel(ctx))
				gone.Add(1)
			}()
		}
		return err
	})
	if err == nil && p.idle > 0 {
		g.report(fmt.Sprintf("%d idle connections", p.idle), "opened in %v, %.1f kB each",
			time.Since(begun).Round(time.Millisecond), (g.status("VmRSS")-before)*1024/float64(p.idle))
	}
	return gone, err
}

// pipeline publishes on one connection without waiting; every answer comes, in order.
func (p plan) pipeline(ctx context.Context, g *process) error {
	c, err := connect(ctx, g.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	events := make([]*nostr.Event, p.pipelined)
	for i := range events {
		events[i] = issue(i)
	}
	begun, wrote := time.Now(), make(chan error, 1)
	go func() {
		for _, e := range events {
			if err := c.Send(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	for i, e := range events {
		m, err := c.Receive(ctx)
		if err != nil {
			return fmt.Errorf("answer %d: %w", i, err)
		}
		if ok, is := m.(nostr.OK); !is || !ok.OK || ok.ID != e.ID {
			return fmt.Errorf("answer %d is %+v", i, m)
		}
	}
	g.report(fmt.Sprintf("%d publishes pipelined", p.pipelined), "%.0f a second, every OK in order", float64(p.pipelined)/time.Since(begun).Seconds())
	return <-wrote
}

// delays are the times from publishing until a subscriber has the event.
type delays struct {
	mu  sync.Mutex
	all []time.Duration
}

func (d *delays) add(x time.Duration) { d.mu.Lock(); defer d.mu.Unlock(); d.all = append(d.all, x) }

// take returns the median and the 99th percentile of what has come since the last time.
func (d *delays) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all
	d.all = nil
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return fmt.Sprintf("median %v, 99 of 100 within %v, longest %v of %d", all[len(all)/2].Round(10*time.Microsecond),
		all[len(all)*99/100].Round(10*time.Microsecond), all[len(all)-1].Round(10*time.Microsecond), len(all))
}

// listeners subscribes and publishes; every subscriber gets what its filters match.
func (p plan) listeners(ctx context.Context, g *process) error {
	var d delays
	var got, expected atomic.Int64
	var sent sync.Map // when an event was published, by id
	listening, stop := context.WithCancel(ctx)
	defer stop()
	interested := make([]int, topics) // subscribers, by topic
	clients := make([]*client, p.subscribers)
	for i := range clients {
		for f := range p.filters {
			interested[(i*7+f*13)%topics]++
		}
	}
	err := many(ctx, p.subscribers, 16, func(ctx context.Context, i int) error {
		c, err := connect(ctx, g.url)
		if err != nil {
			return err
		}
		clients[i] = c
		return c.subscribe(ctx, i, p.filters)
	})
	if err != nil {
		return err
	}
	var readers sync.WaitGroup
	for _, c := range clients {
		readers.Go(func() {
			for {
				m, err := c.Receive(listening)
				if err != nil {
					return
				}
				if e, is := m.(nostr.RelayEvent); is {
					if at, known := sent.Load(e.Event.ID); known {
						d.add(time.Since(at.(time.Time)))
						got.Add(1)
					}
				}
			}
		})
	}
	publisher, err := connect(ctx, g.url)
	if err != nil {
		return err
	}
	answers := make(chan error, 1)
	total := int(p.lasts.Seconds() * float64(p.rate))
	go func() { answers <- publisher.allOK(ctx, total) }()
	tick := time.NewTicker(time.Second / time.Duration(p.rate))
	defer tick.Stop()
	for i := range total {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		e := issue(i)
		expected.Add(int64(interested[i%topics]))
		sent.Store(e.ID, time.Now())
		if err := publisher.Send(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
			return err
		}
		if tenth := max(1, total/10); (i+1)%tenth == 0 {
			g.report(fmt.Sprintf("%d subscribers, %d %%", p.subscribers, (i+1)*100/total), "from publishing to a subscriber: %s", d.take())
			if g.ended = g.status("VmRSS"); (i+1)/tenth == 2 {
				g.settled = g.ended
			}
		}
	}
	if err := <-answers; err != nil {
		return err
	}
	for wait := 0; got.Load() < expected.Load() && wait < 300; wait++ {
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	readers.Wait()
	if got.Load() != expected.Load() {
		return fmt.Errorf("%d deliveries, expected %d", got.Load(), expected.Load())
	}
	g.report("then", "all %d deliveries came", expected.Load())
	return nil
}

// subscribe opens a live subscription about some topics and waits until it is there.
func (c *client) subscribe(ctx context.Context, n, filters int) error {
	var fs []nostr.Filter
	for f := range filters {
		fs = append(fs, nostr.Filter{Kinds: []nostr.Kind{1621}, Limit: new(int), Tags: []nostr.TagFilter{{Name: 't', Values: []string{topic(n*7 + f*13)}}}})
	}
	if err := c.Send(ctx, nostr.AppendReq(nil, "live", fs...)); err != nil {
		return err
	}
	m, err := c.Receive(ctx)
	if err != nil {
		return err
	}
	if _, is := m.(nostr.EOSE); !is {
		return fmt.Errorf("instead of EOSE: %+v", m)
	}
	return nil
}

// allOK reads n positive answers.
func (c *client) allOK(ctx context.Context, n int) error {
	for i := range n {
		m, err := c.Receive(ctx)
		if err != nil {
			return fmt.Errorf("answer %d: %w", i, err)
		}
		if ok, is := m.(nostr.OK); !is || !ok.OK {
			return fmt.Errorf("answer %d is %+v", i, m)
		}
	}
	return nil
}

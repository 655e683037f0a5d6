package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/wire"
)

const (
	beat  = 50 * time.Millisecond // between an answer and the next request of the honest client
	grace = 5 * time.Second       // for the last answers of a measurement
)

// honest is a client whose delays are measured. It publishes on one connection and asks on another one.
type honest struct {
	url        string
	repository *nostr.Event
	publisher  *line
	asker      *line
	git        *contributor // nil where no repositories are hosted
}

// line is a connection of the honest client that is made again when it is lost.
type line struct {
	url  string
	from netip.Addr
	c    *wire.Client // nil while there is none
}

// watched is what the honest client saw for a while.
type watched struct {
	publish, query sample
	// Where repositories are hosted.
	push, clone, page sample
}

// sample is the delays of one kind of request.
type sample struct {
	took   delays // with the last one, whether it was answered or not
	failed int    // that had no answer, and connections that could not be made
	why    error  // the first of those
}

// String is the median and the 99th percentile, and how many had no answer.
func (s sample) String() string {
	if s.failed > 0 {
		return fmt.Sprintf("%s, %d without an answer", s.took, s.failed)
	}
	return s.took.String()
}

func newHonest(ctx context.Context, url string, hosts bool) (*honest, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	one := on(honestNet, 0)
	h := &honest{url: url, repository: announce("honest", "honest", ""), publisher: &line{url: url, from: one}, asker: &line{url: url, from: one}}
	if err := h.publisher.up(ctx); err != nil {
		return nil, err
	}
	if hosts { // what waits for its git data has no issues yet
		var err error
		if h.git, err = newContributor(ctx, url); err == nil {
			h.repository = h.git.place.announcement()
		}
		return h, err
	}
	ok, err := publish(ctx, h.publisher.c, h.repository)
	if err == nil && !ok {
		err = errors.New("the honest client's repository is not taken")
	}
	return h, err
}

// watch lets the client do its work until the time is up or ctx ends.
func (h *honest) watch(ctx context.Context, d time.Duration) (w watched) {
	// What was asked within the time has some more for its answer.
	asking, stop := context.WithTimeout(ctx, d)
	defer stop()
	waiting, cancel := context.WithTimeout(ctx, d+grace)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { w.publish = h.publisher.repeat(asking, waiting, beat, h.publish) })
	both.Go(func() { w.query = h.asker.repeat(asking, waiting, beat, h.query) })
	if h.git != nil {
		both.Go(func() { h.git.watch(asking, waiting, &w) })
	}
	both.Wait()
	return w
}

// recover is the time since the attackers left until a publish was answered.
func (h *honest) recover(ctx context.Context, left time.Time) string {
	ctx, cancel := context.WithTimeout(ctx, mostRecover)
	defer cancel()
	for sleep(ctx, beat) == nil {
		if h.publisher.up(ctx) == nil && h.publish(ctx, h.publisher.c) == nil {
			return span(time.Since(left))
		}
		h.publisher.down()
	}
	return "not within " + span(mostRecover)
}

func (h *honest) publish(ctx context.Context, c *wire.Client) error {
	ok, err := publish(ctx, c, issue("honest", h.repository))
	if err == nil && !ok {
		err = errors.New("refused")
	}
	return err
}

// query asks for a few stored events until EOSE.
func (h *honest) query(ctx context.Context, c *wire.Client) error {
	limit := 10
	return ask(ctx, c, nostr.Filter{Kinds: []nostr.Kind{1621}, Tags: []nostr.TagFilter{{Name: 'a', Values: []string{h.repository.Address()}}}, Limit: &limit})
}

func (h *honest) leave() { h.publisher.down(); h.asker.down() }

// ask waits for the EOSE of a subscription and ends it.
func ask(ctx context.Context, c *wire.Client, f nostr.Filter) error {
	const sub = "stored"
	if err := c.Send(ctx, nostr.AppendReq(nil, sub, f)); err != nil {
		return err
	}
	for {
		m, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case nostr.EOSE:
			return c.Send(ctx, nostr.AppendClose(nil, sub))
		case nostr.Closed:
			return fmt.Errorf("refused: %s", m.Reason)
		}
	}
}

// repeat does it again and again while asking, and waits longer for the answer of the last one.
func (l *line) repeat(asking, waiting context.Context, beat time.Duration, do func(context.Context, *wire.Client) error) sample {
	return repeat(asking, beat, func() error {
		err := l.up(waiting)
		if err == nil {
			err = do(waiting, l.c)
		}
		if err != nil {
			l.down()
		}
		return err
	})
}

// repeat measures what is done again and again.
func repeat(asking context.Context, beat time.Duration, do func() error) (s sample) {
	for asking.Err() == nil {
		begun := time.Now()
		err := do()
		s.took = append(s.took, time.Since(begun))
		if err != nil {
			s.failed++
			if s.why == nil {
				s.why = err
			}
		}
		_ = sleep(asking, beat)
	}
	return s
}

func (l *line) up(ctx context.Context) (err error) {
	if l.c == nil {
		l.c, err = wire.DialFrom(ctx, l.url, l.from)
	}
	return err
}

func (l *line) down() {
	if l.c != nil {
		l.c.CloseNow()
		l.c = nil
	}
}

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/wire"
)

// nothing is the first message of a reconciliation by somebody who has nothing.
var nothing = must(hex.DecodeString("6100000200"))

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err) // it stands above
	}
	return b
}

const (
	newcomerEvery = time.Second
	newcomerWaits = 5 * time.Second // for each step
)

// welcome is how newcomers fared, who each come from an address that has nothing yet, while an attack was under way.
type welcome struct {
	tried, connected, asked, reconciled, published int
	slowest                                        time.Duration // of those who got everything
}

// String says how many got what.
func (w welcome) String() string {
	switch {
	case w.tried == 0:
		return "none came"
	case w.published == w.tried && w.asked == w.tried && w.reconciled == w.tried:
		return fmt.Sprintf("%d of %d, within %s", w.tried, w.tried, span(w.slowest))
	}
	return fmt.Sprintf("connected %d, asked %d, reconciled %d, published %d of %d", w.connected, w.asked, w.reconciled, w.published, w.tried)
}

// newcomers come one after the other, from a third of the attack on once it is built up.
func newcomers(ctx context.Context, url string, builds, lasts time.Duration) (w welcome) {
	if sleep(ctx, builds+lasts/3) != nil {
		return w
	}
	for end := time.Now().Add(lasts * 2 / 3); time.Now().Before(end) && ctx.Err() == nil; {
		w.next(ctx, url)
		_ = sleep(ctx, newcomerEvery)
	}
	return w
}

// next lets another one try everything. One who is interrupted by the end of the attack does not count.
func (w *welcome) next(ctx context.Context, url string) {
	begun, one := time.Now(), *w
	one.tried++
	step := func(ctx context.Context, do func(context.Context) error) bool {
		ctx, cancel := context.WithTimeout(ctx, newcomerWaits)
		defer cancel()
		return do(ctx) == nil
	}
	count := func(n *int, did bool) bool {
		if did {
			*n++
		}
		return did
	}
	// Each step has a connection of its own, as one that was given up takes its connection with it.
	fresh := func(do func(context.Context, *wire.Client) error) bool {
		return step(ctx, func(ctx context.Context) error {
			c, err := wire.DialFrom(ctx, url, on(newcomerNet, one.tried))
			if err != nil {
				return err
			}
			defer c.CloseNow()
			return do(ctx, c)
		})
	}
	all := count(&one.connected, fresh(func(context.Context, *wire.Client) error { return nil }))
	if all {
		did := count(&one.asked, fresh(func(ctx context.Context, c *wire.Client) error { return ask(ctx, c, someone) }))
		did = count(&one.reconciled, fresh(reconcile)) && did
		did = count(&one.published, fresh(arrive)) && did
		all = did
	}
	if ctx.Err() != nil {
		return
	}
	if all {
		one.slowest = max(one.slowest, time.Since(begun))
	}
	*w = one
}

// someone is a filter that some events answer.
var someone = nostr.Filter{Kinds: []nostr.Kind{30617}, Limit: new(5)}

// reconcile compares with the announcements that the relay has.
func reconcile(ctx context.Context, c *wire.Client) error {
	if err := c.Send(ctx, nostr.AppendNegOpen(nil, "compare", nostr.Filter{Kinds: []nostr.Kind{30617}}, nothing)); err != nil {
		return err
	}
	m, err := c.Receive(ctx)
	if err != nil {
		return err
	}
	if _, is := m.(nostr.NegMsg); !is {
		return errors.New("no reconciliation")
	}
	return nil
}

// arrive announces a repository.
func arrive(ctx context.Context, c *wire.Client) error {
	e := newPlace("newcomer", fmt.Sprint(time.Now().UnixNano())).announcement()
	ok, err := publish(ctx, c, e)
	if err == nil && !ok {
		err = errors.New("refused")
	}
	return err
}

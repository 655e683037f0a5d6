package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Occupy has the shell of a relay do nothing but f.
func (e *Engine) Occupy(ctx context.Context, u grasp.RelayURL, f func()) {
	for _, p := range e.ask(ctx) {
		if p.url == u {
			p.call(ctx, func(context.Context) { f() })
		}
	}
}

// Load has a loader of the connection to a relay do f.
func (e *Engine) Load(ctx context.Context, u grasp.RelayURL, f func()) {
	for _, p := range e.ask(ctx) {
		if p.url == u {
			p.call(ctx, func(context.Context) { p.link.load(func(context.Context) { f() }) })
		}
	}
}

// Watched tells for how long a relay was watched.
func (e *Engine) Watched(ctx context.Context, u grasp.RelayURL) (up backoff.Uptime) {
	for _, p := range e.ask(ctx) {
		if p.url == u {
			s, _ := p.standing(ctx)
			up = s.record.Uptime
		}
	}
	return up
}

// ReadLess has n entries of the feed read at once. It is called before Run.
func (e *Engine) ReadLess(n int) { e.chunk = n }

// Hold keeps Run from the feed, which it follows already, until release.
func (e *Engine) Hold() (release func()) {
	<-e.following
	r := retry{done: make(chan error)}
	e.retries <- r
	return func() { <-r.done }
}

// HoldLoads takes all places for reading the store, so that every loader waits, until release.
func (e *Engine) HoldLoads() (release func()) {
	for range cap(e.loads) {
		e.loads <- struct{}{}
	}
	return func() {
		for range cap(e.loads) {
			<-e.loads
		}
	}
}

// TakeLists takes the lists that Run has yet to take.
func (e *Engine) TakeLists() (l policy.Lists, looser bool) {
	x := <-e.lists
	return x.lists, x.looser
}

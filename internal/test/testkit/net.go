package testkit

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Delay returns, for one direction of a connection by its name, the function that draws the time on the way.
type Delay func(name string) func() time.Duration

// Net is a set of fake relays that a dialer reaches by URL.
type Net struct {
	Seed  uint64 // of everything that happens by chance
	Delay Delay  // nil: everything arrives at once

	t      testing.TB
	mu     sync.Mutex
	relays map[grasp.RelayURL]*FakeRelay
}

// NewNet returns an empty network.
func NewNet(t testing.TB) *Net { return &Net{t: t, relays: make(map[grasp.RelayURL]*FakeRelay)} }

// Relay adds a relay. Configure it before anybody dials it.
func (n *Net) Relay(u grasp.RelayURL) *FakeRelay {
	f := &FakeRelay{
		URL: u, t: n.t, delay: n.Delay, seed: n.Seed, from: make(map[string]int), moved: make(map[nostr.ID]int),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.relays[u] = f
	return f
}

// Change configures a relay anew, for whoever dials it from then on. Nobody may be connected to it.
func (n *Net) Change(with func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	with()
}

// random returns a source of randomness of its own for everything that has a name.
func random(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Has reports whether there is a relay with that URL.
func (n *Net) Has(u grasp.RelayURL) bool { _, err := n.find(u); return err == nil }

func (n *Net) find(u grasp.RelayURL) (*FakeRelay, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f := n.relays[u]; f != nil {
		return f, nil
	}
	return nil, errors.New("no such host")
}

// Dial connects to a relay of the network.
func (n *Net) Dial(ctx context.Context, u grasp.RelayURL) (*Conn, error) {
	return n.DialFrom(ctx, "", u)
}

// DialFrom connects a client with a name, so that what happens to it by chance does not depend on other clients.
func (n *Net) DialFrom(ctx context.Context, from string, u grasp.RelayURL) (*Conn, error) {
	f, err := n.find(u)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return f.admit(from)
}

// ReadInfo returns the relay's information document, if it serves one.
func (n *Net) ReadInfo(u grasp.RelayURL) (nip11.Document, error) {
	f, err := n.find(u)
	if err != nil {
		return nip11.Document{}, err
	}
	if f.Info == nil {
		return nip11.Document{}, errors.New("HTTP status 404")
	}
	return *f.Info, nil
}

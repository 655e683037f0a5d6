// Package members knows who may use a private service (GRASP-08): a set of keys that the operator may change at any time. It also tells which
// member has signed a request over HTTP, and which other services are members'. Read Circle, then Signer.
package members

import (
	"sync/atomic"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Circle has the members as they are now. Any goroutine may use it.
type Circle struct {
	keys atomic.Pointer[policy.PubKeys]
}

// New makes a circle of keys. The caller changes the map no more.
func New(keys policy.PubKeys) *Circle {
	c := &Circle{}
	c.Set(keys)
	return c
}

// Set makes the owners of the keys the members, and nobody else. The caller changes the map no more. Whoever serves a former member has to
// send them away.
func (c *Circle) Set(keys policy.PubKeys) { c.keys.Store(&keys) }

// Has reports whether a key is a member's.
func (c *Circle) Has(pk nostr.PubKey) bool {
	_, ok := (*c.keys.Load())[pk]
	return ok
}

// Len returns how many members there are.
func (c *Circle) Len() int { return len(*c.keys.Load()) }

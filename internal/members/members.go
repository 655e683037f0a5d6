// Package members is who may use a private service (GRASP-08): a set of keys that the operator changes while it is in use, and by which
// requests over HTTP are known to be theirs. Read Circle, then Signer.
package members

import (
	"sync/atomic"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Circle is the members as they are now. Any goroutine may use it.
type Circle struct {
	keys atomic.Pointer[policy.PubKeys]
}

// New makes a circle of these keys, which nobody changes any more.
func New(keys policy.PubKeys) *Circle {
	c := &Circle{}
	c.Set(keys)
	return c
}

// Set makes these the members, and no others. Who was one before has to be sent away by those who serve them.
func (c *Circle) Set(keys policy.PubKeys) { c.keys.Store(&keys) }

// Has reports whether a key is a member's.
func (c *Circle) Has(pk nostr.PubKey) bool {
	_, ok := (*c.keys.Load())[pk]
	return ok
}

// Len is how many members there are.
func (c *Circle) Len() int { return len(*c.keys.Load()) }

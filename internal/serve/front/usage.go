package front

import (
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
)

// The buckets of an address.
const (
	connecting  = iota // new WebSocket connections
	publishing         // events
	requesting         // other messages, and work
	receiving          // bytes
	deciding           // the work of deciding events
	controlling        // pings and pongs
	bucketKinds
)

// usage is what one address, or one network of IPv6, has used up of its rates. visitors.mu guards it.
type usage struct {
	buckets [bucketKinds]bucket.Bucket
	raw     int           // connections of any kind
	visits  int           // requests that are being served
	members int           // addresses in a network
	turns   chan struct{} // a token for each client whose turn it is; see TakeTurn
}

func newUsage() *usage {
	return &usage{turns: make(chan struct{}, networkFactor)}
}

// untouched reports whether s is like a new usage. The caller holds mu.
func (s *usage) untouched(now time.Time) bool {
	for kind := range s.buckets {
		if !s.buckets[kind].Full(now) {
			return false
		}
	}
	return s.raw == 0 && s.visits == 0
}

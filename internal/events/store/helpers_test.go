package store_test

import (
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var everything nostr.Filter

// seeds is how many random worlds a test goes through.
func seeds(n uint64) uint64 {
	if storetest.UnderRace {
		return max(1, n/8)
	}
	return n
}

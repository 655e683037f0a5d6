package store_test

import (
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/store/storetest"
)

var everything nostr.Filter

// seeds is how many random worlds a test goes through.
func seeds(n uint64) uint64 {
	if storetest.UnderRace {
		return max(1, n/8)
	}
	return n
}

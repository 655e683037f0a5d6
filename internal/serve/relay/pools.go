package relay

import (
	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/serve/front"
)

// pools holds what clients share: pools of memory, and turns.
type pools struct {
	filters  *fair.Account // bytes of filters
	records  *fair.Account // records of the sets of reconciliations
	messages *fair.Account // bytes of messages being read, beyond the first freeBytes of each
	large    *fair.Account // bytes of large events being sent
	turns    *fair.Account // turns for work that takes long
}

func newPools(f *front.Front, l Limits) pools {
	return pools{
		filters: f.NewAccount(fair.Config{Name: "bytes of filters", Total: allFilterBytes, Address: addressFilterBytes, Little: 1 << 20}),
		// One address may have a quarter of all, but room for one of the largest sets in any case.
		records: f.NewAccount(fair.Config{
			Name: "records of reconciliations", Total: int64(l.Reconcile.Total), Address: int64(max(l.Reconcile.Total/4, l.Reconcile.Records+reserveStep)), Little: 2 * reserveStep,
		}),
		messages: f.NewAccount(fair.Config{Name: "bytes of messages", Total: allMessageBytes, Address: addressMessageBytes, Little: 2 * int64(l.MessageBytes)}),
		large:    f.NewAccount(fair.Config{Name: "bytes of large events", Total: allLargeBytes, Address: addressLargeBytes, Little: 4 * largeEvent}),
		turns:    f.NewAccount(fair.Config{Name: "turns for long work", Total: int64(halfOfProcessors()), Brief: turnTime / 2, Places: mostTurns, PlacesOne: mostTurnsOf}),
	}
}

package relay

import "github.com/graspd/graspd/internal/front"

// pools holds the pools of memory that clients share.
type pools struct {
	filters  *front.Pool // bytes of filters
	records  *front.Pool // records of the sets of reconciliations
	messages *front.Pool // bytes of messages being read, beyond the first freeBytes of each
	large    *front.Pool // bytes of large events being sent
}

func newPools(f *front.Front, l Limits) pools {
	return pools{
		filters: f.NewPool(front.PoolConfig{Name: "bytes of filters", Total: allFilterBytes, Address: addressFilterBytes, Little: 1 << 20}),
		// One address may have a quarter of all, but room for one of the largest sets in any case.
		records: f.NewPool(front.PoolConfig{
			Name: "records of reconciliations", Total: l.Reconcile.Total, Address: max(l.Reconcile.Total/4, l.Reconcile.Records+reserveStep), Little: 2 * reserveStep,
		}),
		messages: f.NewPool(front.PoolConfig{Name: "bytes of messages", Total: allMessageBytes, Address: addressMessageBytes, Little: 2 * l.MessageBytes}),
		large:    f.NewPool(front.PoolConfig{Name: "bytes of large events", Total: allLargeBytes, Address: addressLargeBytes, Little: 4 * largeEvent}),
	}
}

package gitsync

import "sync"

// returnedKept bounds the hosts that wait for Run to tell the plan. The plan asks those beyond when their waits end.
const returnedKept = 1000

// returned has hosts that are there again, until Run tells the plan.
type returned struct {
	mu    sync.Mutex
	hosts map[string]bool
	wake  chan struct{}
}

func (x *returned) put(host string) {
	x.mu.Lock()
	if x.hosts == nil {
		x.hosts = map[string]bool{}
	}
	if len(x.hosts) < returnedKept {
		x.hosts[host] = true
	}
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *returned) take() map[string]bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	hosts := x.hosts
	x.hosts = nil
	return hosts
}

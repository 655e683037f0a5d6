package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// garbagePercent is how much garbage may gather before it is collected, over what lives. Half of what lives is the store's
// block cache, which makes none: with Go's usual 100 the process takes as much again for nothing.
const garbagePercent = 50

// boundGarbage sets that, unless the operator has set GOGC.
func boundGarbage(env lookup) {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
}

// The runtime keeps what a catch-up took for the next one, which may be a day away. It goes back to the system when hardly
// anything is allocated and there is enough of it to be worth a collection.
const (
	calmTime   = 10 * time.Second // is looked at
	calmBytes  = 32 << 20         // are allocated in such a time at most: whoever watches the private pages takes a third of that
	leastSpare = 16 << 20         // bytes that are kept in any case, besides an eighth of what lives
)

// footing is how the process stands with memory, in bytes.
type footing struct {
	allocated uint64 // since its start
	live      uint64 // as of the last collection
	spare     uint64 // what a collection now could give back, at most
}

// readFooting asks the runtime.
func readFooting() footing {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	allocated, live, objects, free := s[0].Value.Uint64(), s[1].Value.Uint64(), s[2].Value.Uint64(), s[3].Value.Uint64()
	return footing{allocated: allocated, live: live, spare: free + objects - min(live, objects)}
}

// tooMuch says whether memory is to go back to the system, before bytes having been allocated when it was last looked.
func (u footing) tooMuch(before uint64) bool {
	return u.allocated-before <= calmBytes && u.spare > leastSpare+u.live/8
}

// tendMemory gives memory back until ctx ends.
func tendMemory(ctx context.Context, read func() footing, giveBack func()) {
	t := time.NewTicker(calmTime)
	defer t.Stop()
	for before := read().allocated; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		u := read()
		if u.tooMuch(before) {
			giveBack()
		}
		before = u.allocated
	}
}

package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// garbagePercent is how much garbage may gather before a collection, in percent of what lives. Half of what lives is the store's block
// cache, which makes no garbage: with Go's usual 100 the process would take as much memory again for nothing.
const garbagePercent = 50

// boundGarbage puts garbagePercent in force, unless the operator has set GOGC.
func boundGarbage(env environment) {
	if _, set := env["GOGC"]; !set {
		debug.SetGCPercent(garbagePercent)
	}
}

// The runtime keeps the memory that a catch-up took for the next one, which may be a day away. graspd gives memory back to the system in
// calm times. The first calm time after a busy one always gives back: the last collection may have been in the middle of the busy time, and
// does not tell what has died since. A later one gives back only when there is enough to be worth a collection.
const (
	calmTime   = 10 * time.Second // how often graspd looks, and over how long
	calmBytes  = 256 << 20        // a calm time allocates at most so much, less than half of what a catch-up allocates
	leastSpare = 16 << 20         // bytes that the process keeps in any case, besides an eighth of what lives
)

// memoryUse has the figures of the process's memory, in bytes.
type memoryUse struct {
	allocated uint64 // since its start
	live      uint64 // as of the last collection
	spare     uint64 // what a collection now could give back, at most
}

// readMemory reads the figures from the runtime.
func readMemory() memoryUse {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	allocated, live, objects, free := s[0].Value.Uint64(), s[1].Value.Uint64(), s[2].Value.Uint64(), s[3].Value.Uint64()
	return memoryUse{allocated: allocated, live: live, spare: free + objects - min(live, objects)}
}

// calm reports whether the process has allocated little since it had allocated before bytes.
func (u memoryUse) calm(before uint64) bool { return u.allocated-before <= calmBytes }

// tooMuch reports whether the spare memory is worth a collection.
func (u memoryUse) tooMuch() bool { return u.spare > leastSpare+u.live/8 }

// returnMemory gives memory back until ctx ends.
func returnMemory(ctx context.Context, read func() memoryUse, release func()) {
	t := time.NewTicker(calmTime)
	defer t.Stop()
	busy := true
	for before := read().allocated; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		u := read()
		switch {
		case !u.calm(before):
			busy = true
		case busy || u.tooMuch():
			busy = false
			release()
		}
		before = u.allocated
	}
}

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
func boundGarbage(env environment) {
	if _, set := env["GOGC"]; !set {
		debug.SetGCPercent(garbagePercent)
	}
}

// The runtime keeps what a catch-up took for the next one, which may be a day away. It goes back to the system when little is
// allocated: after a busy time in any case, as the last collection may have been in the middle of that and does not
// tell what has died since; later when there is enough of it to be worth a collection.
const (
	calmTime   = 10 * time.Second // is looked at
	calmBytes  = 256 << 20        // are allocated in such a time at most, less than half of what a catch-up allocates
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

// calm reports whether little was allocated since before bytes were.
func (u footing) calm(before uint64) bool { return u.allocated-before <= calmBytes }

// tooMuch reports whether what is to spare is worth a collection.
func (u footing) tooMuch() bool { return u.spare > leastSpare+u.live/8 }

// tendMemory gives memory back until ctx ends.
func tendMemory(ctx context.Context, read func() footing, giveBack func()) {
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
			giveBack()
		}
		before = u.allocated
	}
}

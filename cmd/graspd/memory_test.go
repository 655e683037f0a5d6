package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheOperatorsGOGCStays(t *testing.T) {
	was := debug.SetGCPercent(123)
	defer debug.SetGCPercent(was)
	boundGarbage(environment{"GOGC": "200"})
	if got := debug.SetGCPercent(123); got != 123 {
		t.Errorf("GOGC is set, and becomes %d", got)
	}
	boundGarbage(nil)
	if got := debug.SetGCPercent(123); got != garbagePercent {
		t.Errorf("GOGC is not set, and becomes %d", got)
	}
}

// What a catch-up took goes back when it is over, and not while it lasts.
func TestMemoryGoesBackWhenItIsCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		now, givenBack := memoryUse{allocated: 1 << 40, live: 80 << 20, spare: 1 << 30}, 0
		read := func() memoryUse {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			returnMemory(ctx, read, func() {
				mu.Lock()
				defer mu.Unlock()
				now.spare = 0
				givenBack++
			})
		}()
		after := func(allocated, spare uint64, want int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			now.allocated, now.spare = now.allocated+allocated, now.spare+spare
			mu.Unlock()
			time.Sleep(calmTime)
			synctest.Wait()
			if givenBack != want {
				t.Errorf("after %d bytes, with %d to spare: given back %d times, not %d", allocated, now.spare, givenBack, want)
			}
		}
		after(calmBytes+1, 0, 0)
		after(calmBytes, 0, 1)
		after(calmBytes, 26<<20, 1) // an eighth of what lives and 16 MiB
		after(0, 1, 2)
		after(0, 0, 2)
		after(calmBytes+1, 0, 2)
		after(calmBytes, 0, 3) // whatever seems to be to spare
		after(calmBytes, 0, 3)
		cancel()
		<-done
		time.Sleep(time.Hour)
		if givenBack != 3 {
			t.Error("memory is given back after the end")
		}
	})
}

func TestFootingTellsWhatIsToSpare(t *testing.T) {
	runtime.GC()
	before := readMemory()
	for range 64 {
		sink = make([]byte, 1<<20)
	}
	u := readMemory()
	if u.allocated-before.allocated < 64<<20 {
		t.Errorf("64 MiB were allocated, told are %d bytes", u.allocated-before.allocated)
	}
	if sink = nil; u.live == 0 || u.live > before.live+before.spare+64<<20 || u.spare == 0 {
		t.Errorf("before %+v, then %+v", before, u)
	}
	debug.FreeOSMemory()
	if now := readMemory(); now.spare > 16<<20 {
		t.Errorf("all is given back, and %d bytes are to spare", now.spare)
	}
}

var sink []byte

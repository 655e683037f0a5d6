package gitproc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestMemoryOfAllProcesses: whoever asks for whatever, all processes together have no more than there is, and none more than half.
func TestMemoryOfAllProcesses(t *testing.T) {
	chance := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			total := int64(256<<20) << chance.IntN(6)
			m := newMemory(total, 1<<30)
			var has atomic.Int64
			commands := []Command{Reach(), UploadPack(true), RepackGeometric(), PackReachable(true, true, gitwire.Filter{})}
			for i := range 60 {
				r := Run{Kind: Kind(chance.IntN(3)), Party: fmt.Sprint(i % 5), Reads: chance.Int64N(1 << chance.IntN(40)), Greedy: chance.IntN(3) == 0}
				c, lasts := commands[chance.IntN(4)], time.Duration(chance.IntN(10))*time.Second
				go func() {
					s, err := m.take(t.Context(), c, r)
					if err != nil {
						if !errors.Is(err, ErrBusy) {
							t.Error(err)
						}
						return
					}
					n := s.each
					switch {
					case c.starts:
						n *= 2
					case c.hands:
						n += handsOn
					}
					if all := has.Add(n); all > total || n > total/2 || n <= 0 {
						t.Errorf("%d more, of %d: %d", n, total, all)
					}
					time.Sleep(lasts)
					has.Add(-n)
					s.release()
				}()
				synctest.Wait()
			}
			time.Sleep(time.Hour)
			if left := m.Unreturned(); has.Load() != 0 || len(left) > 0 {
				t.Errorf("%d, %q", has.Load(), left)
			}
		})
	}
}

// TestMaintenanceLeavesMemoryToOthers: beside it the largest of clients' processes runs, also on a small machine.
func TestMaintenanceLeavesMemoryToOthers(t *testing.T) {
	for total := int64(512 << 20); total <= 64<<30; total *= 2 {
		m := newMemory(total, 1<<30)
		for _, c := range []Command{RepackGeometric(), Reach()} {
			s, err := m.take(t.Context(), c, Run{Kind: Maintenance})
			if err != nil {
				t.Fatal(err)
			}
			if n := s.Size(); n > total/4 || n < min(1<<30, total/4) || s.each < leastMemory {
				t.Errorf("of %d MiB: %d MiB, %d MiB each", total>>20, n>>20, s.each>>20)
			}
			clone, err := m.take(t.Context(), Reach(), Run{Party: "a", Greedy: true, AtOnce: true})
			if err != nil {
				t.Errorf("of %d MiB nothing is left for a clone: %v", total>>20, err)
			} else {
				clone.release()
			}
			s.release()
		}
	}
}

// TestLittleWorkFindsMemory: while two have large processes, one of them waits, and others have room for small ones. Who waits hears after two minutes.
func TestLittleWorkFindsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(1<<30, 1<<30)
		first, err := m.take(t.Context(), Reach(), Run{Party: "a", Greedy: true})
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() {
			_, err := m.take(t.Context(), Reach(), Run{Party: "b", Greedy: true})
			second <- err
		}()
		synctest.Wait()
		if len(second) > 0 {
			t.Error("both have half of it")
		}
		var little share
		for i := range 3 {
			if little, err = m.take(t.Context(), Reach(), Run{Party: fmt.Sprint(i), Reads: 1 << 20, AtOnce: true}); err != nil || little.each != 130<<20 {
				t.Fatalf("%d, %v", little.each, err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("left"))
		if _, err := m.take(ctx, Reach(), Run{Party: "c", Greedy: true}); err == nil || err.Error() != "left" {
			t.Error(err)
		}
		began := time.Now()
		if err := <-second; !errors.Is(err, ErrBusy) || time.Since(began) != 2*time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		first.release()
		little.release()
		if _, err := m.take(t.Context(), Reach(), Run{Party: "b", Greedy: true, AtOnce: true}); err != nil {
			t.Error(err)
		}
		if _, err := m.take(t.Context(), Reach(), Run{Party: "b", Greedy: true, AtOnce: true}); !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
	})
}

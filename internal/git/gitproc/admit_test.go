package gitproc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// newGates makes a git of which only the slots and the memory are used.
func newGates(total int64, slots int) *Git {
	g := &Git{memory: newMemory(total, 1<<30)}
	for kind := range g.kinds {
		g.kinds[kind].slots = newSlots(slots, 64, 4)
	}
	return g
}

// occupy has a run take its part for so long, unless others have it give way, and tells when it got it.
func (g *Git) occupy(ctx context.Context, c Command, r Run, lasts time.Duration) chan error {
	got := make(chan error, 2)
	go func() {
		memory, err := g.admit(ctx, c, r)
		got <- err
		if err != nil {
			return
		}
		ctx, kill := context.WithTimeout(ctx, lasts)
		memory.RevocableFor(usualTime(r.Reads), func() { got <- ErrGaveWay; kill() })
		<-ctx.Done()
		kill()
		memory.release()
		g.kinds[r.Kind].slots.give(r.work())
	}()
	synctest.Wait()
	return got
}

// TestWhoWaitsForMemoryHasNoSlot: others use the slot meanwhile.
func TestWhoWaitsForMemoryHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates(1<<30, 2)
		first := g.occupy(t.Context(), Reach(), Run{Party: "a", Reads: 1 << 30}, 3*time.Second)
		second := g.occupy(t.Context(), Reach(), Run{Party: "b", Reads: 1 << 30}, time.Second)
		if len(first) != 1 || len(second) != 0 || g.kinds[Fetch].slots.free != 1 {
			t.Fatalf("%d %d, %d slots are free", len(first), len(second), g.kinds[Fetch].slots.free)
		}
		for _, atOnce := range []bool{false, true} {
			if third := g.occupy(t.Context(), Reach(), Run{Party: "c", Reads: 1 << 20, AtOnce: atOnce}, time.Second); len(third) != 1 || <-third != nil {
				t.Error("a slot and memory are free, and c has neither")
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(second) != 1 || <-second != nil {
			t.Error("the memory is free, and b does not have it")
		}
		time.Sleep(time.Minute)
		if left := g.memory.Unreturned(); len(left) > 0 || g.kinds[Fetch].slots.free != 2 {
			t.Errorf("%q, %d slots", left, g.kinds[Fetch].slots.free)
		}
	})
}

// TestNobodyWaitsForEverWhereBothAreScarce: whatever waits for slots and memory gets both or hears that it does not.
func TestNobodyWaitsForEverWhereBothAreScarce(t *testing.T) {
	chance := rand.New(rand.NewPCG(7, 8))
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			g := newGates(int64(256<<20)<<chance.IntN(4), 1+chance.IntN(3))
			var all []chan error
			ctx, leave := context.WithCancel(t.Context())
			for i := range 60 {
				r := Run{Kind: Kind(chance.IntN(2)), Party: fmt.Sprint(i % 9), Reads: 1 << chance.IntN(32), Heavy: chance.IntN(2) == 0, AtOnce: chance.IntN(9) == 0}
				c := []Command{Reach(), UploadPack(true)}[chance.IntN(2)]
				all = append(all, g.occupy(ctx, c, r, time.Duration(chance.IntN(20))*time.Second))
				time.Sleep(time.Duration(chance.IntN(1000)) * time.Millisecond)
				if chance.IntN(20) == 0 {
					leave()
					ctx, leave = context.WithCancel(t.Context())
				}
			}
			time.Sleep(30 * time.Minute)
			for _, got := range all {
				if len(got) == 0 {
					t.Error("one still waits")
				} else if err := <-got; err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			leave()
			if left := g.memory.Unreturned(); len(left) > 0 {
				t.Errorf("%q", left)
			}
		})
	}
}

// TestLargeClonesOnASmallMachine: three large clones at once on 2 GiB, and one small one of another address each second: the large ones are served one
// after the other, the small ones beside them, and nobody is refused.
func TestLargeClonesOnASmallMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates(1<<30, 4)
		began := time.Now()
		var large, small []chan error
		for i := range 3 {
			large = append(large, g.occupy(t.Context(), Reach(), Run{Party: fmt.Sprint("large ", i), Reads: 200 << 20, Heavy: true}, 30*time.Second))
		}
		for i := range 100 {
			small = append(small, g.occupy(t.Context(), Reach(), Run{Party: fmt.Sprint(i), Reads: 1 << 20}, 3*time.Second))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		for _, got := range append(large, small...) {
			if len(got) != 1 {
				t.Errorf("%d outcomes after %v", len(got), time.Since(began))
			} else if err := <-got; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestWhoWaitsForASlotDoesNotKeepMemory: who has memory and no slot for long leaves it to others, waits for both again, and comes to an end; and hears
// after two minutes in all.
func TestWhoWaitsForASlotDoesNotKeepMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates(1<<30, 1)
		large := Run{Reads: 1 << 30}
		run := func(k Kind, party string, r Run, lasts time.Duration) chan error {
			r.Kind, r.Party = k, party
			return g.occupy(t.Context(), Reach(), r, lasts)
		}
		first := run(Fetch, "first", large, 10*time.Second)
		idle := run(Upload, "idle", large, 10*time.Second)
		slot := run(Upload, "slot", Run{}, time.Minute)
		time.Sleep(10 * time.Second) // idle has the memory from now on
		other := run(Fetch, "other", large, 20*time.Second)
		if len(first) != 1 || len(slot) != 1 || len(idle)+len(other) != 0 {
			t.Fatalf("%d %d %d %d", len(first), len(slot), len(idle), len(other))
		}
		time.Sleep(7 * time.Second)
		if len(other) != 1 || len(idle) != 0 {
			t.Errorf("after seven seconds %d %d", len(other), len(idle))
		}
		time.Sleep(45 * time.Second)
		if len(idle) != 1 || <-idle != nil {
			t.Error("slot and memory are free, and idle does not have them")
		}
		time.Sleep(time.Minute)
		began := time.Now()
		run(Upload, "slot", Run{}, time.Hour)
		late := run(Upload, "late", Run{}, time.Minute)
		if err := <-late; !errors.Is(err, ErrBusy) || time.Since(began) != 2*time.Minute || g.Stats(Upload).Refused != 1 {
			t.Errorf("%v after %v, %d refused", err, time.Since(began), g.Stats(Upload).Refused)
		}
		own := run(Upload, "", Run{}, time.Second)
		time.Sleep(time.Hour)
		if len(own) != 1 || <-own != nil {
			t.Error("our own work does not wait as long as it has to")
		}
		synctest.Wait() // until all is given back
		if left := g.memory.Unreturned(); len(left) > 0 || g.kinds[Upload].slots.free != 1 {
			t.Errorf("%q, %d slots", left, g.kinds[Upload].slots.free)
		}
	})
}

// TestMemoryIsRevokedAsTheSlotComes: the slot is not lost, and nothing runs without memory.
func TestMemoryIsRevokedAsTheSlotComes(t *testing.T) {
	g := newGates(1<<30, 1)
	r := Run{Party: "a"}
	slots := g.kinds[Fetch].slots
	memory, err := g.memory.take(t.Context(), Reach(), r)
	if err != nil {
		t.Fatal(err)
	}
	err = memory.join(t.Context(), slots, func(ctx context.Context, w work) error {
		err := slots.take(ctx, w)
		memory.Oust()
		return err
	}, r.work())
	if !errors.Is(err, ErrGaveWay) || slots.free != 1 {
		t.Errorf("%v, %d slots are free", err, slots.free)
	}
}

// TestMemoryGivesWay: who holds memory for longer than is usual gives way to one that needs as much.
func TestMemoryGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates(1<<30, 4)
		slow := g.occupy(t.Context(), Reach(), Run{Party: "slow", Reads: 200 << 20}, time.Hour)
		other := g.occupy(t.Context(), Reach(), Run{Party: "other", Reads: 200 << 20}, 20*time.Second)
		time.Sleep(44 * time.Second)
		if len(slow) != 1 || len(other) != 0 {
			t.Errorf("%d %d", len(slow), len(other))
		}
		time.Sleep(2 * time.Second)
		if len(slow) != 2 || len(other) != 1 {
			t.Errorf("%d %d", len(slow), len(other))
		}
	})
}

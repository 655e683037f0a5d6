package objecttest_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
)

func TestContractInMemory(t *testing.T) {
	objecttest.Contract(t, func(testing.TB) objects.Store { return new(objecttest.Memory) })
}

type outcome struct {
	o   objects.Outcome
	err bool
}

// TestFaults: each does what it says, when it says.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault  objecttest.Fault
		want   outcome
		there  bool // at once
		later  bool // after two other requests
		slower time.Duration
	}{
		"nothing":            {objecttest.Fault{}, outcome{objects.Done, false}, true, true, 0},
		"slow":               {objecttest.Fault{Delay: time.Hour}, outcome{objects.Done, false}, true, true, time.Hour},
		"lost":               {objecttest.Fault{Lost: true}, outcome{objects.Unknown, true}, false, false, 0},
		"silent":             {objecttest.Fault{Silent: true}, outcome{objects.Unknown, true}, true, true, 0},
		"late":               {objecttest.Fault{Lost: true, Again: 3}, outcome{objects.Unknown, true}, false, true, 0},
		"twice":              {objecttest.Fault{Silent: true, Again: 3}, outcome{objects.Unknown, true}, true, true, 0},
		"later than we look": {objecttest.Fault{Lost: true, Again: 4}, outcome{objects.Unknown, true}, false, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			s := &objecttest.Memory{Fault: func(objecttest.Request) objecttest.Fault {
				if asked++; asked == 1 {
					return c.fault
				}
				return objecttest.Fault{}
			}}
			begun := time.Now()
			o, err := s.Put(t.Context(), "a", bytes.NewReader([]byte("a")))
			if got := (outcome{o, err != nil}); got != c.want || time.Since(begun) != c.slower {
				t.Errorf("%s: %+v after %v", name, got, time.Since(begun))
			}
			for i, want := range []bool{c.there, c.there, c.later} {
				if _, err := s.Head(t.Context(), "a"); (err == nil) != want || err != nil && !errors.Is(err, objects.ErrNone) {
					t.Errorf("%s: look %d: %v", name, i, err)
				}
			}
			s.Deliver()
			_, err = s.Head(t.Context(), "a")
			if want := c.later || c.fault.Again > 0; (err == nil) != want {
				t.Errorf("%s: in the end: %v", name, err)
			}
		})
	}
}

func TestRandomFaultsAreThoseOfTheirSeed(t *testing.T) {
	of := func(seed uint64) (all []objecttest.Fault) {
		fault := objecttest.Random(seed, time.Second)
		for range 500 {
			all = append(all, fault(objecttest.Request{Op: "put", Name: "a"}))
		}
		return all
	}
	if !slices.Equal(of(3), of(3)) || slices.Equal(of(3), of(4)) {
		t.Error("faults do not follow their seed")
	}
	var kinds struct{ lost, silent, late, well, longest int }
	for _, f := range of(5) {
		switch {
		case f.Lost && f.Again > 0:
			kinds.late++
		case f.Lost:
			kinds.lost++
		case f.Silent:
			kinds.silent++
		default:
			kinds.well++
		}
		if f.Lost {
			kinds.longest++
		} else if kinds.longest < 4 {
			kinds.longest = 0
		}
	}
	if kinds.lost < 30 || kinds.silent < 20 || kinds.late < 3 || kinds.well < 200 || kinds.longest < 4 {
		t.Errorf("%+v", kinds)
	}
}

func TestSetBack(t *testing.T) {
	s := new(objecttest.Memory)
	var moments []objecttest.Moment
	for i := range 4 {
		moments = append(moments, s.Moment())
		if o, err := s.Put(t.Context(), fmt.Sprint(i), bytes.NewReader(nil)); o != objects.Done || err != nil {
			t.Fatal(o, err)
		}
	}
	if err := s.Delete(t.Context(), "0"); err != nil {
		t.Fatal(err)
	}
	for n := 3; n >= 0; n-- {
		s.SetBack(moments[n])
		if page, err := s.List(t.Context(), "", "", 10); err != nil || len(page) != n {
			t.Errorf("at moment %d: %v, %v", n, page, err)
		}
	}
	if o, err := s.Put(t.Context(), "2", bytes.NewReader(nil)); o != objects.Done || err != nil {
		t.Errorf("after it: %v, %v", o, err)
	}
}

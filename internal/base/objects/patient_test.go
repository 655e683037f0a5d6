package objects_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
)

func TestAPatientStoreIsAStore(t *testing.T) {
	objecttest.Contract(t, func(testing.TB) objects.Store { return objects.Patient{Store: new(objecttest.Memory)} })
}

// asking asks a store for one of each.
func asking(s objects.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"put":    func(ctx context.Context) error { _, err := s.Put(ctx, "name", strings.NewReader("x")); return err },
		"get":    func(ctx context.Context) error { _, err := s.Get(ctx, "name", 0, 1); return err },
		"head":   func(ctx context.Context) error { _, err := s.Head(ctx, "name"); return err },
		"list":   func(ctx context.Context) error { _, err := s.List(ctx, "", "", 1); return err },
		"delete": func(ctx context.Context) error { return s.Delete(ctx, "name") },
	}
}

// TestHowPatientAStoreIs: a request is made seven times where there is no answer, with longer and longer waits between, and ends then, or once there is
// an answer, or with its caller's context.
func TestHowPatientAStoreIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, lost := 0, 0
		m := &objecttest.Memory{Fault: func(objecttest.Request) objecttest.Fault {
			asked++
			return objecttest.Fault{Lost: asked <= lost}
		}}
		for _, what := range []string{"put", "get", "head", "list", "delete"} {
			ask := asking(objects.Patient{Store: m})[what]
			for n, want := range map[int]int{0: 1, 3: 4, 6: 7, 100: 7} {
				asked, lost = 0, n
				begun := time.Now()
				err := ask(t.Context())
				if errors.Is(err, objects.ErrUnanswered) != (n == 100) || n < 7 && err != nil || asked != want {
					t.Errorf("%s, of which %d are lost: %d times, %v", what, n, asked, err)
				}
				if took := time.Since(begun); n == 100 && took != 6300*time.Millisecond || n == 3 && took != 700*time.Millisecond {
					t.Errorf("%s, of which %d are lost: it took %v", what, n, took)
				}
			}
			asked, lost = 0, 100
			begun := time.Now()
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, objects.ErrUnanswered) || asked != 4 || time.Since(begun) != time.Second {
				t.Errorf("%s: %d times in %v, %v", what, asked, time.Since(begun), err)
			}
			end()
		}
		asked, lost = 0, 100
		begun := time.Now()
		if _, err := (objects.Patient{Store: m, Wait: time.Second}).Head(t.Context(), "name"); err == nil || time.Since(begun) != (1+2+4+5+5+5)*time.Second {
			t.Errorf("%v after %v: no wait is longer than five seconds", err, time.Since(begun))
		}
	})
}

// TestAStoreThatHangs: a request ends after some seconds, and later where more goes over the wire; then it is made again.
func TestAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		m := &objecttest.Memory{Fault: func(objecttest.Request) objecttest.Fault {
			if asked++; asked == 1 {
				return objecttest.Fault{Delay: time.Hour}
			}
			return objecttest.Fault{}
		}}
		p := objects.Patient{Store: m, Wait: time.Second}
		for n, want := range map[int]time.Duration{1: 11 * time.Second, 8 << 20: 31 * time.Second} {
			asked = 0
			begun := time.Now()
			if _, err := p.Get(t.Context(), "nothing", 0, n); err != objects.ErrNone || time.Since(begun) != want {
				t.Errorf("%d bytes: %v after %v", n, err, time.Since(begun))
			}
		}
	})
}

// TestWhoGivesUpIsTheCaller, also in the last request: that says nothing of the store.
func TestWhoGivesUpIsTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		m := &objecttest.Memory{Fault: func(objecttest.Request) objecttest.Fault {
			if asked++; asked == 7 {
				return objecttest.Fault{Delay: time.Hour}
			}
			return objecttest.Fault{Lost: true}
		}}
		ctx, end := context.WithTimeout(t.Context(), 7*time.Second)
		defer end()
		if _, err := (objects.Patient{Store: m}).Head(ctx, "name"); asked != 7 || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, objects.ErrUnanswered) {
			t.Errorf("%d times, %v", asked, err)
		}
	})
}

// TestWhatIsNotAskedAgain: what a store would say once more.
func TestWhatIsNotAskedAgain(t *testing.T) {
	asked := 0
	p := objects.Patient{Store: &objecttest.Memory{Fault: func(objecttest.Request) objecttest.Fault { asked++; return objecttest.Fault{} }}}
	if _, err := p.Get(t.Context(), "nothing", 0, 1); err != objects.ErrNone || asked != 1 {
		t.Errorf("%d times: %v", asked, err)
	}
	for _, err := range []error{p.Delete(t.Context(), "No Name"), func() error { _, err := p.Get(t.Context(), "x", 0, 0); return err }()} {
		if !errors.Is(err, objects.ErrName) && !errors.Is(err, objects.ErrSize) || errors.Is(err, objects.ErrUnanswered) {
			t.Error(err)
		}
	}
}

package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
)

var errOver = errors.New("over")

func TestItSleepsForAsLongAsItIsTold(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			if err := sleep.For(t.Context(), d); err != nil {
				t.Errorf("%v: %v", d, err)
			}
			if took := time.Since(begun); took != max(0, d) {
				t.Errorf("%v took %v", d, took)
			}
		})
	}
}

func TestSleepEndsWithItsContextAndGivesTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { end(errOver) })
		begun := time.Now()
		for _, d := range []time.Duration{time.Hour, time.Hour, 0, -1} { // all but the first begin when the context has ended
			if err := sleep.For(ctx, d); !errors.Is(err, errOver) {
				t.Errorf("%v: %v", d, err)
			}
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

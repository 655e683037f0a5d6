package main

import (
	"context"
	"slices"
	"time"
)

const jitterEvery = 5 * time.Millisecond

// jitter watches how late the machine wakes who sleeps, until the function that it returns is called: that tells the
// latenesses, sorted. Nothing that takes several steps on that machine can be more even.
func jitter(ctx context.Context) (stop func() []time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []time.Duration, 1)
	go func() {
		var late []time.Duration
		for ctx.Err() == nil {
			begun := time.Now()
			time.Sleep(jitterEvery)
			late = append(late, time.Since(begun)-jitterEvery)
		}
		slices.Sort(late)
		done <- late
	}()
	return func() []time.Duration {
		cancel()
		return <-done
	}
}

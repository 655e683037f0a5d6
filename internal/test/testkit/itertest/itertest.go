// Package itertest holds an iterator to its contract: once its reader has left, it yields nothing more, whatever else has ended meanwhile. The
// runtime ends the process over an iterator that breaks this.
package itertest

import (
	"context"
	"errors"
	"iter"
	"testing"
)

// positions is how many positions of one sequence are tried.
const positions = 200

// errEnded is the cause with which a reader ends its context, and so an error that a sequence may yield.
var errEnded = errors.New("the reader has ended its context")

// Seq stops sequences at each of their positions. Each call of fresh has to return a new sequence, with the same values.
func Seq[V any](t *testing.T, fresh func(ctx context.Context) iter.Seq[V]) {
	t.Helper()
	Seq2(t, func(ctx context.Context) iter.Seq2[V, error] {
		return func(yield func(V, error) bool) { fresh(ctx)(func(v V) bool { return yield(v, nil) }) }
	})
}

// Seq2 does the same as Seq with sequences of two values. Where the second is an error, nothing may come after one.
func Seq2[K, V any](t *testing.T, fresh func(ctx context.Context) iter.Seq2[K, V]) {
	t.Helper()
	run := func(r reader) int {
		t.Helper()
		return read(t, r, fresh)
	}
	n := run(reader{stop: never, end: never})
	if n == 0 {
		t.Fatal("the sequence yields nothing, so it shows nothing")
	}
	for at := range min(n, positions) {
		run(reader{stop: at, end: never})
		run(reader{stop: at, end: at})
		run(reader{stop: at + 1, end: at})
		run(reader{stop: never, end: at})
	}
}

// never is a position that no reader reaches.
const never = -1

// reader says at which position a reader leaves, and at which it ends its context and goes on.
type reader struct{ stop, end int }

// read reads one sequence and returns how many positions the sequence had.
func read[K, V any](t *testing.T, r reader, fresh func(ctx context.Context) iter.Seq2[K, V]) (n int) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	left, failed := false, false
	fresh(ctx)(func(_ K, v V) bool {
		if left {
			t.Fatalf("%+v: yields position %d to a reader that has left", r, n)
		}
		if failed {
			t.Fatalf("%+v: yields position %d after an error", r, n)
		}
		_, failed = any(v).(error)
		if n == r.end {
			cancel(errEnded)
		}
		left = n == r.stop
		n++
		return !left
	})
	return n
}

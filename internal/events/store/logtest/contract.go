package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Contract is what every log promises. fresh makes an empty log.
func Contract(t *testing.T, fresh func(testing.TB) commitlog.Log) {
	for _, c := range []struct {
		name string
		run  func(testing.TB, commitlog.Log)
	}{
		{"a position without an entry", none},
		{"an entry is read as it was written", written},
		{"an entry never changes", once},
		{"of many writers of a position one is done", race},
		{"bytes belong to whoever gave them", owned},
		{"nothing is known once the context has ended", ended},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
	}
}

func put(t testing.TB, l commitlog.Log, at commitlog.Position, before commitlog.Chain, body []byte, want commitlog.Result) {
	t.Helper()
	if r, err := l.Append(t.Context(), at, before, body); r != want || err != nil {
		t.Fatalf("append at %d: %v, %v; want %v", at, r, err, want)
	}
}

func wantEntry(t testing.TB, l commitlog.Log, want commitlog.Entry) {
	t.Helper()
	got, err := l.Read(t.Context(), want.At)
	if err != nil || got.At != want.At || got.Chain != want.Chain || !bytes.Equal(got.Body, want.Body) {
		t.Errorf("entry %d: %d %v and %d bytes, %v; want %v and %d bytes", want.At, got.At, got.Chain, len(got.Body), err, want.Chain, len(want.Body))
	}
}

func none(t testing.TB, l commitlog.Log) {
	put(t, l, 2, commitlog.Chain{1}, []byte("two"), commitlog.Done)
	for at, want := range map[commitlog.Position]error{0: commitlog.ErrNone, 1: commitlog.ErrGap, 3: commitlog.ErrNone, 20: commitlog.ErrNone, 1<<64 - 1: commitlog.ErrNone} {
		if e, err := l.Read(t.Context(), at); !errors.Is(err, want) {
			t.Errorf("position %d: %v, %v", at, e, err)
		}
	}
}

func written(t testing.TB, l commitlog.Log) {
	bodies := [][]byte{{0}, []byte("body\n\x00\xff"), bytes.Repeat([]byte{7, 0}, 3<<20), []byte("last"), {}}
	var before commitlog.Chain
	var all []commitlog.Entry
	for i, body := range bodies {
		e := commitlog.NewEntry(commitlog.Position(i+1), before, body)
		put(t, l, e.At, before, body, commitlog.Done)
		if !e.Follows(e.At-1, before) {
			t.Errorf("entry %d does not follow the one before", e.At)
		}
		all, before = append(all, e), e.Chain
	}
	for _, e := range all {
		wantEntry(t, l, e)
	}
}

func once(t testing.TB, l commitlog.Log) {
	first := commitlog.NewEntry(1, commitlog.Chain{}, []byte("first"))
	put(t, l, 1, commitlog.Chain{}, first.Body, commitlog.Done)
	for _, other := range [][]byte{[]byte("other"), first.Body, {}} {
		put(t, l, 1, commitlog.Chain{}, other, commitlog.Refused)
	}
	put(t, l, 1, commitlog.Chain{9}, first.Body, commitlog.Refused)
	wantEntry(t, l, first)
}

func race(t testing.TB, l commitlog.Log) {
	const writers, positions = 8, 10
	done := make([][]string, positions+1)
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for at := 1; at <= positions; at++ {
				body := fmt.Sprint(w, " at ", at)
				r, err := l.Append(t.Context(), commitlog.Position(at), commitlog.Chain{}, []byte(body))
				mu.Lock()
				if err != nil {
					t.Error(err)
				}
				if r == commitlog.Done {
					done[at] = append(done[at], body)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for at := 1; at <= positions; at++ {
		if len(done[at]) != 1 {
			t.Fatalf("position %d: %q were done", at, done[at])
		}
		wantEntry(t, l, commitlog.NewEntry(commitlog.Position(at), commitlog.Chain{}, []byte(done[at][0])))
	}
}

func owned(t testing.TB, l commitlog.Log) {
	body := []byte("body")
	put(t, l, 1, commitlog.Chain{}, body, commitlog.Done)
	body[0] = 'x'
	want := commitlog.NewEntry(1, commitlog.Chain{}, []byte("body"))
	e, err := l.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	e.Body[0] = 'y'
	wantEntry(t, l, want)
}

func ended(t testing.TB, l commitlog.Log) {
	ctx, end := context.WithCancel(t.Context())
	end()
	if r, err := l.Append(ctx, 1, commitlog.Chain{}, []byte("body")); r != commitlog.Unknown || err == nil {
		t.Errorf("append: %v, %v", r, err)
	}
	if _, err := l.Read(ctx, 1); err == nil || errors.Is(err, commitlog.ErrNone) {
		t.Errorf("read: %v", err)
	}
}

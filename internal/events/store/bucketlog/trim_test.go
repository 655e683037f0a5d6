package bucketlog_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// terms writes a log of so many entries, whose terms begin at positions.
func terms(t *testing.T, n commitlog.Position, begin ...commitlog.Position) *objecttest.Memory {
	t.Helper()
	bucket := new(objecttest.Memory)
	var chain commitlog.Chain
	var term, began uint64
	for at := commitlog.Position(1); at <= n; at++ {
		begins := int(term) < len(begin) && begin[term] == at
		if begins {
			term++
		}
		body, err := commitlog.Body{Term: term, Began: began}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if begins {
			began = uint64(at)
		}
		e := commitlog.NewEntry(at, chain, body)
		put(t, bucket, e, chain)
		chain = e.Chain
	}
	return bucket
}

// TestTrimKeepsBeginnings: the entries before a position go, however many, but for those that begin terms.
func TestTrimKeepsBeginnings(t *testing.T) {
	const n = 2500
	begin := []commitlog.Position{1, 2, 1000, 1500, 2200, 2400}
	bucket := terms(t, n, begin...)
	log := bucketlog.New(bucket)
	if x, err := log.Extent(t.Context(), 0); err != nil || x.First != 1 || x.Last != n || x.Entries != n {
		t.Fatal(x, err)
	}
	if removed, err := log.Trim(t.Context(), 2300, 2400); err != nil || removed != 2299-5 {
		t.Errorf("%d, %v", removed, err)
	}
	for at := commitlog.Position(1); at <= n; at++ {
		_, err := log.Read(t.Context(), at)
		want := at >= 2300
		for _, b := range begin {
			want = want || at == b
		}
		if want && err != nil || !want && !errors.Is(err, commitlog.ErrGap) {
			t.Fatalf("%d: %v", at, err)
		}
	}
	if removed, err := log.Trim(t.Context(), 2300, 2400); err != nil || removed != 0 {
		t.Errorf("again: %d, %v", removed, err)
	}
	if any, err := log.Any(t.Context()); !any || err != nil {
		t.Error(any, err)
	}
	if any, err := bucketlog.New(new(objecttest.Memory)).Any(t.Context()); any || err != nil {
		t.Error(any, err)
	}
}

// TestTrimNeedsAllBeginnings: nothing is removed where it is not known which entries begin terms.
func TestTrimNeedsAllBeginnings(t *testing.T) {
	for what, spoil := range map[string]func(*objecttest.Memory) error{
		"one is gone":    func(m *objecttest.Memory) error { return m.Delete(t.Context(), fmt.Sprintf("log/%020d", 5)) },
		"one is no such": nil,
	} {
		bucket := terms(t, 20, 1, 5, 10)
		log, began := bucketlog.New(bucket), commitlog.Position(10)
		if spoil == nil {
			if _, err := log.Begins(t.Context(), 21); err == nil {
				t.Errorf("%s: it is found", what)
			}
			continue
		}
		if err := spoil(bucket); err != nil {
			t.Fatal(err)
		}
		if n, err := log.Trim(t.Context(), 15, began); err == nil || n != 0 {
			t.Errorf("%s: %d are removed, %v", what, n, err)
		}
		if x, err := log.Extent(t.Context(), 0); err != nil || x.Entries != 19 {
			t.Errorf("%s: %v, %v", what, x, err)
		}
	}
}

// TestTermsBeginBeforeTheNext: an entry that says that the term before it began at its own position, or later, is damaged.
func TestTermsBeginBeforeTheNext(t *testing.T) {
	for _, began := range []uint64{5, 6, 1 << 40} {
		body, err := commitlog.Body{Term: 2, Began: began}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		bucket := new(objecttest.Memory)
		put(t, bucket, commitlog.NewEntry(5, commitlog.Chain{}, body), commitlog.Chain{})
		ctx, end := context.WithTimeout(t.Context(), time.Second) // who believes the entry goes round for ever
		if all, err := bucketlog.New(bucket).Begins(ctx, 5); !errors.Is(err, commitlog.ErrDamaged) {
			t.Errorf("%d: %d beginnings, %v", began, len(all), err)
		}
		end()
	}
}

// TestATrimThatFails says so, and another one does the rest.
func TestATrimThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := terms(t, 100, 1, 40)
		bucket.Fault = objecttest.Random(1, time.Second)
		log := bucketlog.New(bucket)
		failed := 0
		for {
			_, err := log.Trim(t.Context(), 90, 40)
			if err == nil {
				break
			}
			if failed++; failed > 100 {
				t.Fatal(err)
			}
		}
		bucket.Fault = nil
		bucket.Deliver()
		if x, err := log.Extent(t.Context(), 0); err != nil || x.Entries != 11+2 || failed == 0 {
			t.Errorf("%v, %v, failed %d times", x, err, failed)
		}
	})
}

// TestAClosedLogSaysSo: a read that fails after Close is not worth another try.
func TestAClosedLogSaysSo(t *testing.T) {
	bucket := terms(t, 3, 1)
	log := bucketlog.New(bucket)
	log.Close()
	if _, err := log.Read(t.Context(), 2); err != nil {
		t.Errorf("it can be read: %v", err)
	}
	bucket.Fault = func(objecttest.Request) objecttest.Fault { return objecttest.Fault{Lost: true} }
	if _, err := log.Read(t.Context(), 2); !errors.Is(err, commitlog.ErrClosed) {
		t.Error(err)
	}
}

package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// TestOpenWithALogThatBeginsLater: a store goes on where the log has all that comes after it. Where it lacks some of that, it does not open, as
// it would begin another history.
func TestOpenWithALogThatBeginsLater(t *testing.T) {
	bucket := new(objecttest.Memory)
	log := bucketlog.New(bucket)
	whole, behind, empty := vfs.NewMem(), vfs.NewMem(), vfs.NewMem()
	if err := openLogged(t, empty, log).Close(); err != nil {
		t.Fatal(err)
	}
	s := openLogged(t, whole, log)
	lead(t, s)
	fill(s, 0, 3) // up to position 4
	if err := openLogged(t, behind, log).Close(); err != nil {
		t.Fatal(err)
	}
	fill(s, 3, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for gone := 1; gone <= 6; gone++ {
		if err := bucket.Delete(t.Context(), fmt.Sprintf("log/%020d", gone)); err != nil {
			t.Fatal(err)
		}
		for at, fs := range map[int]vfs.FS{0: empty, 4: behind, 7: whole} {
			s, err := store.Open(store.Options{Dir: "data", FS: clone(t, fs), Log: log})
			if at >= gone && err != nil || at < gone && !errors.Is(err, commitlog.ErrGap) {
				t.Errorf("without the first %d, from position %d on: %v", gone, at, err)
			}
			if err != nil {
				continue
			}
			if n := len(readAll(t, s)); n != 6 {
				t.Errorf("without the first %d, from position %d on: %d events", gone, at, n)
			}
			s.Close()
		}
	}
}

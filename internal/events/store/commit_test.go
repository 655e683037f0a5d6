package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/store"
)

// TestUpdate writes what it is to, or nothing, and leaves no batch open.
func TestUpdate(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	wrong := errors.New("no")
	for i, fails := range []error{wrong, nil} {
		name := []string{"a", "b"}[i]
		err := store.Update(s, func(b *store.Batch) error { return errors.Join(b.SetRow(name, []byte{1}), fails) })
		if !errors.Is(err, fails) || fails == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	v := s.View()
	defer v.Close()
	for name, want := range map[string]int{"a": 0, "b": 1} {
		if row, err := v.Row(name); err != nil || len(row) != want {
			t.Errorf("%s is %v, %v", name, row, err)
		}
	}
}

// TestOneCommitPath: nothing is written to an engine but in one place.
func TestOneCommitPath(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"w.Commit(", "pebble.Sync", "db.Set(", "db.Delete", "db.Apply(", "db.LogData("} {
			for range strings.Count(string(b), call) {
				places = append(places, name+" "+call)
			}
		}
	}
	if want := []string{"commit.go w.Commit(", "commit.go pebble.Sync"}; !slices.Equal(places, want) {
		t.Errorf("it is written in %q, want %q", places, want)
	}
}

package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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

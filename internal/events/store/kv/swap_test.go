package kv

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestBrokenStoresAreKept: each repair keeps the store that it found.
func TestBrokenStoresAreKept(t *testing.T) {
	fs, now := vfs.NewMem(), time.Unix(1, 0)
	var kept []string
	for _, want := range []string{"", "-2", "-3"} {
		name, err := brokenName(fs, "data/store", now)
		if err != nil || !strings.HasSuffix(name, "Z"+want) || slices.Contains(kept, name) {
			t.Errorf("%q among %q, %v", name, kept, err)
		}
		if err := fs.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, name)
	}
}

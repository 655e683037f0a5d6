package node_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graspd/graspd/internal/node"
)

func TestTheKeyIsMadeOnceAndReadableByItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	a, err := node.LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := node.LoadKey(dir)
	if err != nil || a != b {
		t.Errorf("another key: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, "relay.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "relay.key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := node.LoadKey(dir); err == nil {
		t.Error("a broken key file is taken")
	}
}

package node_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
)

// stopped is the data directory of a node that ran once.
func stopped(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	n, err := node.New(node.Config{Dir: dir, Service: service(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestACopyIsANode: a copy is what it is a copy of, for its owner alone, and has its name once it is complete.
func TestACopyIsANode(t *testing.T) {
	data, to := stopped(t), filepath.Join(t.TempDir(), "copy")
	early := false
	watched := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if _, err := os.Lstat(to); err == nil && strings.Contains(op.Path, "copy") {
			early = true
		}
		return nil
	}))
	if err := node.CopyClosed(data, to, store.Options{FS: watched}); err != nil {
		t.Fatal(err)
	}
	if early {
		t.Error("it has its name before it is complete")
	}
	info, err := os.Stat(filepath.Join(to, "relay.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key: %v, %v", info, err)
	}
	a, err := node.ReadKey(data)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := node.ReadKey(to); err != nil || a != b {
		t.Errorf("another key: %v", err)
	}
	n, err := node.New(node.Config{Dir: to, Service: service(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// TestACopyThatCannotBeMade leaves what is there, and nothing of its own.
func TestACopyThatCannotBeMade(t *testing.T) {
	there := t.TempDir()
	err := node.CopyClosed(stopped(t), there, store.Options{})
	if over, ok := errors.AsType[*fs.PathError](err); !ok || over.Op != "copy to" || !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a directory: %v", err)
	}
	if _, err := os.Stat(there); err != nil {
		t.Error(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := node.CopyClosed(t.TempDir(), to, store.Options{}); err == nil {
		t.Error("where there is no store it is copied")
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

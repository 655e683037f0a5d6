package node_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/backup"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

func service(t *testing.T) grasp.Service {
	t.Helper()
	s, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOneBackupAtATime asks for a second one in the middle of the first.
func TestOneBackupAtATime(t *testing.T) {
	dir := t.TempDir()
	var n *node.Node
	taken := t.TempDir()
	var during []error
	disk := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, ".partial") && len(during) == 0 {
			during = append(during, nil) // the second one comes here, too
			during[0] = n.Backup(taken)
		}
		return nil
	})
	n, err := node.New(node.Config{Dir: dir, Service: service(t), Store: store.Options{FS: errorfs.Wrap(vfs.Default, disk)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Backup(filepath.Join(t.TempDir(), "copy")); err != nil {
		t.Error(err)
	}
	if len(during) != 1 || !errors.Is(during[0], backup.ErrRunning) {
		t.Errorf("the second one: %v", during)
	}
	if err := n.Backup(filepath.Join(t.TempDir(), "copy")); err != nil {
		t.Errorf("after the first one: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

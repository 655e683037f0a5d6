package node_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// A disk at its floor is a warning at the start, and whenever it changes; not each time that somebody looks.
func TestADiskAtItsFloorIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var free atomic.Uint64
		n, err := node.New(node.Config{
			Dir: "data", Service: service(t), Store: store.Options{FS: vfs.NewMem(), Floor: 1000, FreeSpace: func() (uint64, error) { return free.Load(), nil }},
			Identity: func() (node.Identity, error) { return node.Identity{PubKey: nostr.PubKey{1}}, nil }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx, node.Listeners{Public: listener{nil, make(chan struct{})}}) }()
		counts := func(floor, room int) {
			t.Helper()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if f, r := strings.Count(log.String(), "level=WARN msg=\"the disk is at its floor"), strings.Count(log.String(), "the disk has room again"); f != floor || r != room {
				t.Errorf("%d times at the floor, %d times room again, want %d and %d:\n%s", f, r, floor, room, &log)
			}
		}
		counts(1, 0)
		free.Store(5000)
		counts(1, 1)
		free.Store(10)
		counts(2, 1)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
}

package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/coder/websocket"
)

// With few descriptors there are fewer connections, so that neither the store nor git nor other relays lack any.
func TestConnectionsLeaveFilesForTheRest(t *testing.T) {
	for _, c := range []struct {
		files  uint64
		relays int
		want   fdShares
	}{
		{1 << 63, 500, fdShares{20_000, 21_000, 500, 500}},
		{65_536, 500, fdShares{20_000, 21_000, 500, 500}},
		{22_700, 500, fdShares{20_000, 21_000, 500, 500}},
		{20_000, 500, fdShares{17_300, 18_300, 500, 500}},
		{4096, 500, fdShares{2157, 2396, 500, 500}},
		{1024, 500, fdShares{346, 384, 256, 128}},
		{256, 500, fdShares{87, 96, 64, 32}},
		{4096, 20_000, fdShares{1685, 1872, 1024, 500}},
		{4096, 10, fdShares{2598, 2886, 10, 500}},
		{0, 500, fdShares{1, 1, 1, 1}},
	} {
		got := divideDescriptors(c.files, c.relays)
		if got != c.want {
			t.Errorf("%d descriptors and %d relays: %+v, want %+v", c.files, c.relays, got, c.want)
		}
		if rest := int(min(c.files, 1<<31)) - got.all - got.relays - got.tables; c.files > 8 && rest < int(min(c.files/4, ownFiles+gitFiles)) {
			t.Errorf("%d descriptors and %d relays: %d are left for git and the rest", c.files, c.relays, rest)
		}
	}
	if n := openFiles(); n < 64 {
		t.Errorf("the process may have %d", n)
	}
}

// A client for whom there is no place is told so: the descriptors have not run out before the places.
func TestPlacesAreFewerThanFiles(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const files = "256"
	c := spawnThis(t, exec.Command("sh", "-c", "ulimit -n "+files+` && exec "$0" "$@"`, self, "serve", "--data", t.TempDir(), "--domain", "relay.example.org",
		"--listen", "127.0.0.1:0", "--admin-listen", "", "--sync=false", "--disk-floor", "0"), nil)
	url := c.out.await(t, `listens on (ws://\S+)\n`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for n := 0; ; n++ {
		ws, answer, err := websocket.Dial(ctx, url, nil)
		if err == nil {
			defer ws.CloseNow()
			continue
		}
		if answer == nil || answer.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("after %d connections: %v", n, err)
		}
		if n != 87 {
			t.Errorf("%d connections with %s descriptors", n, files)
		}
		return
	}
}

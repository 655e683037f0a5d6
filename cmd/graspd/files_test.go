package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/coder/websocket"
)

// With few descriptors there are fewer connections, so that neither the store nor other relays lack any.
func TestConnectionsLeaveFilesForTheRest(t *testing.T) {
	for _, c := range []struct {
		files        uint64
		relays       int
		clients, all int
	}{
		{1 << 63, 500, 20_000, 21_000},
		{65_536, 500, 20_000, 21_000},
		{22_200, 500, 20_000, 21_000},
		{20_000, 500, 17_800, 18_800},
		{4096, 500, 2607, 2896},
		{1024, 500, 461, 512},
		{256, 500, 116, 128},
		{4096, 2000, 1844, 2048},
		{0, 500, 1, 1},
	} {
		clients, all := connectionsFor(c.files, c.relays)
		if clients != c.clients || all != c.all {
			t.Errorf("%d descriptors and %d relays: %d WebSockets of %d connections, want %d of %d", c.files, c.relays, clients, all, c.clients, c.all)
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
		if n != 116 {
			t.Errorf("%d connections with %s descriptors", n, files)
		}
		return
	}
}

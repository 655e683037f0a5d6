package main

import (
	"encoding/json"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestAnAnnouncementOpensNoWayIn: a stranger names this machine and its network as relays, in all spellings. The whole
// graspd connects to the relay that its operator named, on the same machine, and to none of them.
func TestAnAnnouncementOpensNoWayIn(t *testing.T) {
	t.Parallel()
	inside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	var reached atomic.Int32
	go func() {
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(inside.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"wss://relay.example.org"}
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]",
		"[64:ff9b::7f00:1]", "[::]", "me:secret@127.0.0.1", "169.254.169.254", "10.0.0.1", "[fe80::1]",
	} {
		names = append(names, "ws://"+host+":"+port)
	}
	const otherService = "ws://9.9.9.9:22"
	names = append(names, otherService)
	source := testkit.Serve(t)
	source.Add(testkit.Announcement(testkit.Key(1), time.Now().Unix()-100, "proj", append(names, string(source.URL))...))
	us := serve(t, "--data", t.TempDir(), "--domain", "relay.example.org", "--bootstrap", string(source.URL), "--sync-batch-window", "20ms",
		"--sync-base-backoff", "100ms", "--admin-listen", "127.0.0.1:0", "--sync-allow-private=false")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	for deadline := time.Now().Add(patience); ; <-time.After(20 * time.Millisecond) {
		var s admin.Status
		_, b := fetch(t, base+"/status.json")
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		failing := 0
		for _, r := range s.Sync.Relays {
			if !r.Bootstrap && r.Failures >= 2 {
				failing++
			}
			if r.URL == otherService && r.Failures > 0 && !strings.Contains(string(r.Cause), "port 22 belongs to another service") {
				t.Fatalf("%+v", r)
			}
			if !r.Bootstrap && !r.LastAlive.IsZero() {
				t.Fatalf("%s was connected", r.URL)
			}
		}
		if s.Store.Repositories == 1 && failing >= 5 && failing == len(s.Sync.Relays)-1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of them have failed: %s", failing, b)
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d connections to this machine", n)
	}
	if strings.Contains(us.out.String(), "secret") {
		t.Error("credentials are printed")
	}
}

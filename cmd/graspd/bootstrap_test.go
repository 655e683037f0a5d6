package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// gate stands before a relay, and notes what it is asked for.
type gate struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]bool
}

func gateTo(t *testing.T, r grasp.RelayURL) *gate {
	t.Helper()
	to, err := url.Parse("http" + strings.TrimPrefix(string(r), "ws"))
	if err != nil {
		t.Fatal(err)
	}
	g, proxy := &gate{asked: map[string]bool{}}, httputil.NewSingleHostReverseProxy(to)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		g.mu.Lock()
		g.asked[q.RequestURI] = true
		g.mu.Unlock()
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(g.CloseClientConnections)
	return g
}

// TestABootstrapRelayAtAPrivateAddress: announcements and pull requests reach nothing there but what the operator's naming implies: the relay, and
// the git data of the repository itself.
func TestABootstrapRelayAtAPrivateAddress(t *testing.T) {
	t.Parallel()
	domain := "git.example.org"
	old := serve(t, "--git=false", "--domain", domain, "--data", t.TempDir(), "--sync=false", "--admin-listen=")
	gate, inside := gateTo(t, old.url), gateTo(t, old.url)
	host, other := strings.TrimPrefix(gate.URL, "http://"), strings.TrimPrefix(inside.URL, "http://")
	owner, victim, now := testkit.Key(1), testkit.Key(2), time.Now().Unix()
	own, theirs := "/"+nip19.Npub(owner.PubKey())+"/tool.git", "/"+nip19.Npub(victim.PubKey())+"/y.git"
	service, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	clone := nostr.Tag{"clone", service.CloneURL(owner.PubKey(), "tool")}
	forbidden := []string{
		"http://" + host + theirs, "http://" + host + "/internal/admin", "http://" + host + "/internal/admin.git", "http://" + host + "/x/.." + own, "http://" + host + "/" + own,
		"http://" + host + strings.Replace(own, "tool", "%74ool", 1), "http://" + host + own + "/..", "https://" + host + own, "http://" + other + own,
		"http://LOCALHOST" + strings.TrimPrefix(host, "127.0.0.1") + own,
	}
	relays := nostr.Tag{"relays", string(service.RelayURL()), "ws://" + host + "/internal/admin", "wss://" + host, "ws://" + other, "ws://" + host + "?x=y"}
	c := dial(t, old.url)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, append(clone, forbidden...), relays))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", strings.Repeat("a1", 20)}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	fresh := serve(t, "--git", "--domain", domain, "--data", t.TempDir(), "--bootstrap", "ws://"+host, "--sync-allow-private=false", "--sync-base-backoff", "100ms", "--admin-listen=127.0.0.1:0")
	base := fresh.out.await(t, `at (http://\S+)/status.json\n`)
	eventually(t, "all of that was tried", func() bool {
		_, out, _ := call(t, "", nil, "status", "--repositories", "--admin", base)
		var s admin.Status
		if _, b := fetch(t, base+"/status.json"); json.Unmarshal(b, &s) != nil {
			t.Fatalf("%s", b)
		}
		failed := 0
		for _, r := range s.Sync.Relays {
			if !r.Bootstrap && r.Failures > 0 && strings.Contains(string(r.Cause), "not dialed for an announcement") {
				failed++
			}
		}
		return failed == len(relays)-2 && strings.Count(out, ": not dialed for an announcement: ") == len(forbidden) && strings.Contains(out, own+": HTTP 404")
	})
	inside.mu.Lock()
	defer inside.mu.Unlock()
	if len(inside.asked) > 0 {
		t.Errorf("another port was asked for %q", slices.Collect(maps.Keys(inside.asked)))
	}
	gate.mu.Lock()
	defer gate.mu.Unlock()
	for path := range gate.asked {
		if path != "/" && path != own+"/info/refs?service=git-upload-pack" {
			t.Errorf("asked for %s", path)
		}
	}
}

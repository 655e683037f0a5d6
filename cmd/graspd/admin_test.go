package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/test/testkit"
)

// fetch gets one page of the private listener.
func fetch(t *testing.T, url string) (int, []byte) {
	t.Helper()
	c := http.Client{Timeout: patience}
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, b
}

func TestThePrivateListener(t *testing.T) {
	t.Parallel()
	source := testkit.Serve(t)
	now := time.Now().Unix()
	source.Add(testkit.Announcement(testkit.Key(1), now-100, "proj", "wss://relay.example.org", string(source.URL)))
	us := serve(t, "--data", t.TempDir(), "--domain", "relay.example.org", "--bootstrap", string(source.URL), "--sync-batch-window", "50ms",
		"--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	if code, b := fetch(t, base+"/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d %s", code, b)
	}
	var s admin.Status
	deadline := time.Now().Add(patience)
	// The relays may be told as they stood a second before.
	for code := 0; code != http.StatusOK || s.Store.Repositories != 1 || s.Sync.Connected != 1; {
		if time.Now().After(deadline) {
			t.Fatalf("not ready: %d %+v", code, s)
		}
		code, _ = fetch(t, base+"/readyz")
		_, b := fetch(t, base+"/status.json")
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
	}
	if s.Relay.URL != "wss://relay.example.org" || len(s.Sync.Relays) != 1 || s.Sync.Relays[0].URL != source.URL || !s.Sync.Relays[0].Bootstrap ||
		s.Store.Events != 1 || s.Store.Head == 0 {
		t.Errorf("%+v", s)
	}
	if code, b := fetch(t, base+"/metrics"); code != http.StatusOK || !strings.Contains(string(b), "\ngraspd_store_events 1\n") ||
		!strings.Contains(string(b), `ngit_sync_relay_connected{relay="`+string(source.URL)+`"} 1`) || !strings.Contains(string(b), "\ngraspd_relay_connections 0\n") {
		t.Errorf("metrics: %d %s", code, b)
	}
	if code, _ := fetch(t, "http"+strings.TrimPrefix(string(us.url), "ws")+"/status.json"); code != http.StatusNotFound {
		t.Errorf("strangers get %d", code)
	}
}

func TestThePrivateListenerWithoutSync(t *testing.T) {
	us := serve(t, "--data", t.TempDir(), "--sync=false", "--bootstrap", "wss://other.example.net", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	if code, b := fetch(t, base+"/readyz"); code != http.StatusOK {
		t.Errorf("readyz: %d %s", code, b)
	}
	if code, b := fetch(t, base+"/status.json"); code != http.StatusOK || !strings.Contains(string(b), `"dead":0,"matching":0,"relays":[]}`) {
		t.Errorf("status.json: %d %s", code, b)
	}
}

func TestThePrivateListenerCanBeOff(t *testing.T) {
	us := serve(t, "--data", t.TempDir())
	if us.out.await(t, `(?s)(.*relays tag.*)`); strings.Contains(us.out.String(), "status.json") {
		t.Error(us.out.String())
	}
}

func TestAPrivateAddressInUseIsAStartError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	env := map[string]string{"GRASPD_ADMIN_LISTEN": l.Addr().String()}
	code, _, errs := call(t, "", env, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	if code != exitFail || !strings.Contains(errs, "--admin-listen") || !strings.Contains(errs, l.Addr().String()) {
		t.Errorf("%d %s", code, errs)
	}
}

// A request that never ends does not keep the process.
func TestAStuckAdminRequestDoesNotSpoilTheStop(t *testing.T) {
	t.Parallel()
	us := serve(t, "--data", t.TempDir(), "--admin-listen", "127.0.0.1:0")
	address := us.out.await(t, `at http://(\S+)/status.json\n`)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /status.json HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
	if code := us.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/test/testkit"
)

// fillsFrom starts an empty relay whose bootstrap relay announces one repository, whose git data a server should have.
func fillsFrom(t *testing.T, gitServer string) (us *running, base string) {
	t.Helper()
	source, owner, now := testkit.Serve(t), testkit.Key(1), time.Now().Unix()
	npub := "https://git.example.com" + strings.TrimPrefix(cloneURL(t, source.URL, owner.PubKey(), "tool"), "http"+strings.TrimPrefix(string(source.URL), "ws"))
	source.Store(
		testkit.Sign(owner, now-100, nip34.KindRepository, "", []string{"d", "tool"}, []string{"relays", "wss://git.example.com"}, []string{"clone", npub, gitServer + "/tool.git"}),
		testkit.Sign(owner, now-90, nip34.KindState, "", []string{"d", "tool"}, []string{"HEAD", "ref: refs/heads/main"}, []string{"refs/heads/main", strings.Repeat("12", 20)}),
	)
	us = serve(t, "--data", t.TempDir(), "--git", "--domain", "git.example.com", "--bootstrap", string(source.URL), "--sync-batch-window", "50ms", "--admin-listen", "127.0.0.1:0")
	return us, us.out.await(t, `at (http://\S+)/status.json\n`)
}

// A relay that serves nothing of what is announced for it, as a git server cannot be reached, is called ready nowhere.
func TestReadyMeansServed(t *testing.T) {
	t.Parallel()
	dead := "http://" + freeAddress(t)
	us, base := fillsFrom(t, dead)
	us.logs.await(t, `(bootstrap relay has answered everything)`)
	var b []byte
	eventually(t, "the server was asked", func() bool {
		var code int
		code, b = fetch(t, base+"/readyz")
		if code != http.StatusServiceUnavailable {
			t.Fatalf("readyz: %d %s", code, b)
		}
		return strings.Contains(string(b), "refused")
	})
	text := strings.TrimSpace(string(b))
	if !strings.HasPrefix(text, "not ready: 0 of 1 repository is served; git data is missing of tool of npub1") || !strings.Contains(text, dead+"/tool.git: ") {
		t.Error(text)
	}
	if _, out, _ := call(t, "", nil, "status", "--admin", base); !strings.Contains(out, "\nnot ready: 0 of 1 repository is served; ") {
		t.Error(out)
	}
	if _, b := fetch(t, base+"/"); !strings.Contains(string(b), "Not ready: 0 of 1 repository is served; ") {
		t.Errorf("the page: %s", b)
	}
	if _, b := fetch(t, base+"/status.json"); !strings.Contains(string(b), `"readiness":{"ready":false,"announced":1,"served":0,`) {
		t.Errorf("status.json: %s", b)
	}
	if strings.Contains(us.logs.String(), "initial sync finished") {
		t.Error(us.logs)
	}
}

// What no server has is known not to be had: the relay is ready, and says that it serves nothing.
func TestReadyWithoutWhatNobodyHas(t *testing.T) {
	t.Parallel()
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	us, base := fillsFrom(t, empty.URL)
	if line := us.logs.await(t, `([^\n]*initial sync finished[^\n]*)`); !strings.Contains(line, "repositories=1 served=0") {
		t.Error(line)
	}
	if code, b := fetch(t, base+"/readyz"); code != http.StatusOK || !strings.HasPrefix(string(b), "ready: 0 of 1 repository is served; git data is missing of tool of npub1") {
		t.Errorf("readyz: %d %s", code, b)
	}
	if _, out, _ := call(t, "", nil, "status", "--admin", base); !strings.Contains(out, "\nready: 0 of 1 repository is served; ") {
		t.Error(out)
	}
}

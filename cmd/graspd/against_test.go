package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// Two relays that announce the same are compared: what is only there is missing, and said with its reason; what is only here is no trouble.
func TestStatusAgainstAnotherRelay(t *testing.T) {
	t.Parallel()
	other := testkit.Serve(t)
	now, address := time.Now().Unix(), testkit.RepositoryAddress(testkit.Key(1), "tool")
	announced := testkit.Announcement(testkit.Key(1), now-100, "tool", "wss://git.example.com")
	both, there, here := testkit.Issue(testkit.Key(2), now-90, address, "both"), testkit.Issue(testkit.Key(2), now-80, address, "there"), testkit.Issue(testkit.Key(2), now-70, address, "here")
	other.Store(announced, both, testkit.Announcement(testkit.Key(3), now-100, "elsewhere", "wss://other.example.net"))
	us := serve(t, "--data", t.TempDir(), "--domain", "git.example.com", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	c := dial(t, us.url)
	for _, e := range []*nostr.Event{announced, both} {
		c.publish(e)
	}
	compare := func(more ...string) (int, string, string) {
		return call(t, "", nil, append([]string{"status", "--admin", base, "--against", string(other.URL)}, more...)...)
	}
	if code, out, errs := compare(); code != exitOK || !strings.Contains(out, "nothing is missing here; left there for a reason: 0; only here: 0") {
		t.Errorf("the same on both: %d\n%s%s", code, out, errs)
	}
	c.publish(here)
	if code, out, errs := compare(); code != exitOK || !strings.Contains(out, "only here: event "+here.ID.String()) {
		t.Errorf("more here: %d\n%s%s", code, out, errs)
	}
	other.Store(there)
	code, out, errs := compare()
	for _, want := range []string{"1 event or ref is missing here", "only there: event " + there.ID.String() + " (issue there, by npub1"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != exitFail || !strings.Contains(errs, "graspd: 1 event or ref") || strings.Contains(out, "elsewhere") {
		t.Errorf("more there: %d\n%s%s", code, out, errs)
	}
	code, out, _ = compare("--json")
	var r against.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitFail || r.Missing != 1 || r.Beside != 1 || len(r.Repositories) != 1 || r.There != string(other.URL) {
		t.Errorf("%d %v %s", code, err, out)
	}
	c.publish(there)
	if code, out, errs := compare(); code != exitOK {
		t.Errorf("once it is here: %d\n%s%s", code, out, errs)
	}
}

func TestStatusAgainstNobody(t *testing.T) {
	t.Parallel()
	us := serve(t, "--data", t.TempDir(), "--domain", "git.example.com", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	if code, _, errs := call(t, "", nil, "status", "--admin", base, "--against", "ws://"+freeAddress(t)); code != exitFail || !strings.Contains(errs, "refused") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, errs := call(t, "", nil, "status", "--admin", base, "--against", "no relay"); code != exitUsage || !strings.Contains(errs, "url") {
		t.Errorf("%d %s", code, errs)
	}
}

// A relay that hangs up once it was read makes no comparison fail; and where it may have more than it sends, that is said.
func TestStatusAgainstARelayThatHangsUp(t *testing.T) {
	t.Parallel()
	var events []*nostr.Event
	for i := range 25 {
		events = append(events, testkit.Announcement(testkit.Key(1), 1000, fmt.Sprint("elsewhere", i), "wss://other.example.net"))
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		for last := false; ; {
			_, b, err := c.Read(r.Context())
			if err != nil {
				t.Errorf("it was to be told that the last answer was read: %v", err)
				return
			}
			req, is := parsed(t, b).(nostr.Req)
			if !is && last {
				return
			}
			if !is {
				continue
			}
			last = req.Filters[0].Until != nil && *req.Filters[0].Until < 1000
			for _, e := range events {
				if req.Filters[0].Matches(e) {
					_ = c.Write(r.Context(), websocket.MessageText, nostr.AppendRelayEvent(nil, req.Sub, e.AppendJSON(nil)))
				}
			}
			_ = c.Write(r.Context(), websocket.MessageText, nostr.AppendEOSE(nil, req.Sub))
		}
	}))
	t.Cleanup(other.Close)
	us := serve(t, "--data", t.TempDir(), "--domain", "git.example.com", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	code, out, errs := call(t, "", nil, "status", "--admin", base, "--against", strings.Replace(other.URL, "http", "ws", 1))
	if code != exitOK || !strings.Contains(out, "nothing is missing here; the other relay may have more than it sent") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
}

func parsed(t *testing.T, b []byte) nostr.ClientMessage {
	t.Helper()
	m, err := nostr.ParseClient(b)
	if err != nil {
		t.Error(err)
	}
	return m
}

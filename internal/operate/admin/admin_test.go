package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

type fakeStore struct {
	stats  store.Stats
	failed error
	room   error
	disk   store.Disk
}

func (s fakeStore) Stats() store.Stats { return s.stats }
func (s fakeStore) Failure() error     { return s.failed }
func (s fakeStore) Room() error        { return s.room }
func (s fakeStore) Disk() (store.Disk, error) {
	if s.disk == (store.Disk{}) {
		return s.disk, errors.New("not looked at")
	}
	return s.disk, nil
}

type fakeSync struct {
	relays  []status.Relay
	details map[grasp.RelayURL]status.Details
	retry   func(grasp.RelayURL) error
}

func (s fakeSync) Relays(context.Context) []status.Relay                     { return s.relays }
func (s fakeSync) Details(context.Context) map[grasp.RelayURL]status.Details { return s.details }
func (s fakeSync) Retry(_ context.Context, u grasp.RelayURL) error           { return s.retry(u) }

func get(t *testing.T, c admin.Config, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r.Host = "127.0.0.1:7335"
	admin.New(c).ServeHTTP(w, r)
	return w
}

// throughSocket makes a request one that came through a unix socket, where whoever may write to the socket may do everything.
func throughSocket(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.UnixAddr{Name: "/run/admin.sock", Net: "unix"}))
}

// getAsOperator gets a page with its buttons.
func getAsOperator(t *testing.T, c admin.Config, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	r.Host = "127.0.0.1:7335"
	admin.New(c).ServeHTTP(w, throughSocket(r))
	return w.Body.String()
}

var here = admin.Config{
	URL: "wss://relay.example.org", Version: "v1",
	Store: fakeStore{stats: store.Stats{Events: 151000, Repositories: 1000, Head: 151210, Remembered: 5}},
}

func relays() []status.Relay {
	coverage := 0.97
	return []status.Relay{
		{URL: "wss://waiting.example.net",
			Phase: "waiting", Health: status.Dead, Bootstrap: true, Want: status.Count{Repositories: 1, Roots: 2}, Negentropy: "unknown", Failures: 61, Cause: "dial: \xffrefused",
			NextAttempt: status.Moment{Time: time.Date(2026, 11, 21, 13, 30, 0, 987, time.FixedZone("", 3600))},
			LastAlive:   status.Moment{Time: time.Date(60_000, 1, 1, 0, 0, 0, 0, time.UTC)},
		},
		{URL: "wss://other.example.net",
			Phase: "live", Health: status.Healthy, Connected: true, Want: status.Count{Repositories: 50, Roots: 2500},
			Confirmed: status.Count{Repositories: 49, Roots: 2498}, InFlight: 3, LiveREQs: 8, SweptRoots: 7, Turn: status.Seconds{Duration: 3605 * time.Second}, Refused: 1, Negentropy: "works",
			LastAlive: status.Moment{Time: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)},
			Counters:  status.Counters{Sources: status.Sources{Live: 12, Catchup: 7400, Daily: 1}, Gaps: 4, Undelivered: 5, Attempts: 9, DialFailures: 8},
			Uptime:    new(0.998), Coverage: &coverage,
		},
	}
}

// TestStatus holds the document byte by byte: others read it.
func TestStatus(t *testing.T) {
	const self = `{"relay":{"url":"wss://relay.example.org","version":"v1"},"store":{"events":151000,"repositories":1000,"head":151210,"bytes":0,"disk":null},"sync":{`
	const other = `{"url":"wss://other.example.net","bootstrap":false,"phase":"live","health":"healthy",` +
		`"want":{"repositories":50,"roots":2500},"confirmed":{"repositories":49,"roots":2498},"in_flight":3,"live_subscriptions":8,"swept_roots":7,"turn_seconds":3605,"refused_repositories":1,` +
		`"negentropy":"works","failures":0,"cause":null,"failing_since":null,"next_attempt":null,"last_alive":"2026-11-20T12:00:00Z",` +
		`"events":{"live":12,"catchup":7400,"daily":1},"gaps":4,"undelivered":5,"uptime":0.998,"coverage":0.97}`
	const waiting = `{"url":"wss://waiting.example.net","bootstrap":true,"phase":"waiting","health":"dead",` +
		`"want":{"repositories":1,"roots":2},"confirmed":{"repositories":0,"roots":0},"in_flight":0,"live_subscriptions":0,"swept_roots":0,"turn_seconds":0,"refused_repositories":0,` +
		`"negentropy":"unknown","failures":61,"cause":"dial: �refused","failing_since":null,"next_attempt":"2026-11-21T12:30:00Z","last_alive":null,` +
		`"events":{"live":0,"catchup":0,"daily":0},"gaps":0,"undelivered":0,"uptime":null,"coverage":null}`
	const disk = `{"free_bytes":5000,"floor_bytes":4000,"free_inodes":`
	syncing, counted, uncounted := here, here, here
	syncing.Sync = fakeSync{relays: relays()}
	counted.Store = fakeStore{stats: here.Store.Stats(), disk: store.Disk{Free: 5000, Floor: 4000, Inodes: store.Inodes{All: 9}, InodeFloor: 3}}
	uncounted.Store = fakeStore{stats: here.Store.Stats(), disk: store.Disk{Free: 5000, Floor: 4000}}
	apart := here
	apart.Git = host{disk: &store.Disk{Free: 5000, Floor: 4000}}
	const alone = `"tracked":0,"connected":0,"dead":0,"matching":0,"relays":[]}}` + "\n"
	for want, c := range map[string]admin.Config{
		strings.Replace(self, "null", disk+`0,"floor_inodes":3}`, 1) + alone:       counted,
		strings.Replace(self, "null", disk+`null,"floor_inodes":null}`, 1) + alone: uncounted,
		self + alone: here,
		self + strings.TrimSuffix(alone, "}\n") + `,"git_disk":` + disk + "null,\"floor_inodes\":null}}\n":    apart,
		self + `"tracked":2,"connected":1,"dead":1,"matching":2,"relays":[` + other + "," + waiting + "]}}\n": syncing,
	} {
		w := get(t, c, "GET", "/status.json")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
		if got := w.Body.String(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		var back admin.Status
		if err := json.Unmarshal(w.Body.Bytes(), &back); err != nil {
			t.Error(err)
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	failed, full, waiting, through := here, here, here, here
	full.Store = fakeStore{room: store.ErrFull}
	failed.Store = fakeStore{failed: errors.New("storage failed: broken")}
	waiting.Node = whole{filled: &status.Readiness{Relays: []grasp.RelayURL{"wss://a.example.net", "wss://b.example.net"}, Announced: 1}}
	through.Node = whole{filled: &status.Readiness{Ready: true, Announced: 2, Served: 1}}
	for _, c := range []struct {
		name   string
		config admin.Config
		path   string
		code   int
		text   string
	}{
		{"well", here, "/healthz", 200, "ok\n"},
		{"catching up", waiting, "/healthz", 200, "ok\n"},
		{"store failed", failed, "/healthz", 503, "storage failed: broken\n"},
		{"no room", full, "/healthz", 503, store.ErrFull.Error() + "\n"},
		{"no sync", here, "/readyz", 200, "ready\n"},
		{"through", through, "/readyz", 200, "ready: 1 of 2 repositories are served\n"},
		{"catching up", waiting, "/readyz", 503, "not ready: 0 of 1 repository is served; the initial sync has not finished yet: wss://a.example.net, wss://b.example.net\n"},
	} {
		w := get(t, c.config, "GET", c.path)
		if w.Code != c.code || w.Body.String() != c.text || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s %s: %d %q %v", c.name, c.path, w.Code, w.Body, w.Header())
		}
	}
}

func TestProblems(t *testing.T) {
	with := func(s fakeStore, relays ...status.Relay) admin.Config {
		c := here
		c.Store = s
		var all []status.Relay
		for i, r := range relays {
			r.URL = grasp.RelayURL(fmt.Sprintf("wss://r%d.example.net", i))
			all = append(all, r)
		}
		c.Sync = fakeSync{relays: all}
		return c
	}
	began := time.Now().Add(-time.Hour)
	since := func(c admin.Config) admin.Config { c.Start = began; return c }
	reached := status.Relay{Health: status.Degraded, LastAlive: status.Moment{Time: began.Add(time.Minute)}}
	behind := status.Relay{
		Health: status.Degraded, Want: status.Count{Repositories: 5, Roots: 40}, Confirmed: status.Count{Repositories: 3, Roots: 39}, Behind: 30 * time.Hour,
	}
	late, early, dead := behind, behind, behind
	late.Want, early.Behind, dead.Health = late.Confirmed, 24*time.Hour-1, status.Dead
	bootstrap := dead
	bootstrap.Bootstrap, bootstrap.Failures, bootstrap.Cause = true, 61, "connection\nrefused"
	bootstrap.FailingSince = status.Moment{Time: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	missing := with(fakeStore{})
	lacks := status.Readiness{Ready: true, Announced: 1, Late: []status.Missing{{Name: "tool"}}}
	missing.Node = whole{filled: &lacks}
	withGit := func(err error) admin.Config {
		c := here
		c.Git = host{room: err}
		return c
	}
	const told = `bootstrap relay wss://r0.example.net is dead: 61 failures in a row since 2026-11-20T12:00:00Z, the last one: connection\nrefused`
	for _, c := range []struct {
		name   string
		config admin.Config
		want   []string
	}{
		{"no sync", here, nil},
		{"all is well", with(fakeStore{}, status.Relay{Health: status.Healthy}, early), nil},
		{"a relay that a stranger named is dead", with(fakeStore{}, dead), nil},
		{"a bootstrap relay is dead", with(fakeStore{}, bootstrap), []string{told}},
		{"items", with(fakeStore{}, early, behind), []string{
			"relay wss://r1.example.net: for 30 hours graspd has not had all that it wants from it; not complete: 2 repositories, 1 root event"}},
		{"announcements", with(fakeStore{}, late), []string{
			"relay wss://r0.example.net: for 30 hours graspd has not had all that it wants from it; not complete: the list of announcements"}},
		{"disk floor", with(fakeStore{room: store.ErrFull}), []string{"graspd stores nothing: the free disk space is at its floor (--disk-floor)"}},
		{"disk floor of git", withGit(store.ErrFull), []string{"graspd takes no push and fetches no git data: their disk has no more room or inodes than graspd keeps free (--disk-floor)"}},
		{"disk of git", withGit(errors.New("input/output error")), []string{"graspd does not know whether there is room on the disk of the git data: input/output error"}},
		{"room for git", withGit(nil), nil},
		{"no inodes", with(fakeStore{room: fmt.Errorf("room: %w", store.ErrNoInodes)}), []string{"graspd stores nothing: the disk has no free inodes left but those that graspd keeps free (--disk-floor): remove small files, or use a file system with more inodes"}},
		{"disk unknown", with(fakeStore{room: errors.New("gone")}), []string{"graspd does not know whether there is room on the disk: gone"}},
		{"disk failed", with(fakeStore{room: store.ErrFull, failed: errors.New("broken")}, bootstrap), []string{
			"graspd stores nothing until the next start: broken", told}},
		{"disk failed for now", with(fakeStore{failed: fmt.Errorf("%w: full", store.ErrPaused)}), []string{
			"graspd stores nothing for now, and opens its storage anew every minute until that works: storage failed for now: full"}},
		{"something is missing", missing, []string{lacks.Problem()}},
		{"none was reached", since(with(fakeStore{}, early)), []string{status.Unreached([]status.Relay{{URL: "wss://r0.example.net", Behind: time.Hour}}, began)}},
		{"one was reached", since(with(fakeStore{}, early, reached)), nil},
	} {
		w := get(t, c.config, "GET", "/problems.json")
		var got admin.Problems
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || got.Problems == nil {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		if !slices.Equal(got.Problems, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got.Problems, c.want)
		}
	}
}

func TestNothingElseIsThere(t *testing.T) {
	for path, methods := range map[string][]string{"/status.json": {"POST", "PUT", "DELETE"}, "/healthz": {"POST"}, "/readyz": {"POST"}} {
		for _, m := range methods {
			if w := get(t, here, m, path); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", m, path, w.Code)
			}
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/status.json/x", "/healthzz"} {
		if w := get(t, here, "GET", path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// stuckSync answers when its caller has no more patience.
type stuckSync struct{}

func (stuckSync) Relays(ctx context.Context) []status.Relay   { <-ctx.Done(); return relays()[:1] }
func (stuckSync) Retry(context.Context, grasp.RelayURL) error { return nil }
func (stuckSync) Details(ctx context.Context) map[grasp.RelayURL]status.Details {
	<-ctx.Done()
	return nil
}

func TestAnEngineThatIsBusyHoldsNothingUpForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := here
		c.Sync = stuckSync{}
		begun := time.Now()
		if w := get(t, c, "GET", "/status.json"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "waiting.example.net") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if d := time.Since(begun); d > 12*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/admin"
	"github.com/graspd/graspd/internal/status"
)

func TestStatusTable(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	next, past := status.Moment{Time: now.Add(83*time.Minute + 400*time.Millisecond)}, status.Moment{Time: now.Add(-time.Second)}
	cause := status.Text("not dialed for an announcement: port 22 belongs to another service\x1b[2J")
	up, all, coverage := 0.9996, 1.0, 0.29
	s := admin.Status{
		Relay: admin.Self{URL: "wss://relay.example.org", Version: "v1"}, Store: admin.StoreStatus{Events: 151000, Repositories: 1000},
		Sync: admin.SyncStatus{Relays: []status.Relay{
			{URL: "wss://a.example.net", Bootstrap: true, Phase: "live", Health: "healthy", Want: status.Count{Repositories: 50, Roots: 2500},
				Confirmed: status.Count{Repositories: 50, Roots: 2500}, SweptRoots: 7, Turn: status.Seconds{Duration: 3605 * time.Second}, Refused: 1, Counters: status.Counters{Sources: status.Sources{Live: 12, Catchup: 7400, Daily: 3}, Gaps: 2},
				Uptime: &up, Coverage: &coverage},
			{URL: "wss://longer.example.net", Phase: "waiting", Health: "dead", Failures: 61, Want: status.Count{Repositories: 1}, NextAttempt: next, Cause: cause, FailingSince: status.Moment{Time: now.Add(-30 * time.Hour)}},
			{URL: "wss://now.example.net", Phase: "dialing", Health: "degraded", Failures: 1, NextAttempt: past, Uptime: &all},
		}},
	}
	const want = `wss://relay.example.org, graspd v1: 151000 events, 1000 repositories

RELAY                     PHASE    HEALTH        REPOSITORIES       ROOTS                                EVENTS  GAPS  UPTIME  COVERAGE  NEXT ATTEMPT
wss://a.example.net *     live     healthy       50/50 (1 refused)  2500/2500 (7 in turns of 1 h 0 min)    7415     2   99.9%     29.0%  -
wss://longer.example.net  waiting  dead (61)     0/1                0/0                                       0     0       -         -  in 1 h 23 min
wss://now.example.net     dialing  degraded (1)  0/0                0/0                                       0     0  100.0%         -  now

wss://longer.example.net: 61 failures in a row since 2026-11-19T06:00:00Z, the last one: not dialed for an announcement: port 22 belongs to another service\x1b[2J
wss://now.example.net: 1 failure

* bootstrap relay
`
	var b strings.Builder
	if err := printStatus(&b, s, now, 0); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
	const narrow = `wss://relay.example.org, graspd v1: 151000 events, 1000 repositories

RELAY                     PHASE    HEALTH        REPOSITORIES
wss://a.example.net *     live     healthy       50/50 (1 refused)
wss://longer.example.net  waiting  dead (61)     0/1
wss://now.example.net     dialing  degraded (1)  0/0

not in 80 columns: uptime, events, coverage, gaps, roots, next attempt; --wide has them
`
	b.Reset()
	if err := printStatus(&b, s, now, 80); err != nil || !strings.HasPrefix(b.String(), narrow) {
		t.Errorf("%v\n%s", err, b.String())
	}
	s.Sync.Relays = nil
	b.Reset()
	s.Store.Disk = &admin.DiskStatus{FreeBytes: 5 << 30, FreeInodes: new(uint64(12345))}
	s.Git = &status.Git{
		Repositories: 3, Bytes: 5 << 20, Pushes: 1, Fetches: 2, Waiting: 4, Uploads: 6,
		Processes: []status.Processes{{Kind: "fetch", Running: 1, Queued: 2, Refused: 3, Ended: 40, Failed: 5}},
		Waits:     []status.Wait{{Kind: 30618, Repository: "30617:aa:tool", Why: "until 2 branches\x1b[2J", Until: next}},
		Refused:   []status.Refusal{{At: past, Repository: "30617:aa:\ntool", Reason: "no state event"}},
	}
	const git = `wss://relay.example.org, graspd v1: 151000 events, 1000 repositories
5.0 GiB free on the disk, 12345 inodes
git: 3 repositories with data, 5.0 MiB; 1 pushes and 2 fetches under way; 4 events and 6 uploads wait

PROCESSES  RUNNING  QUEUED  REFUSED  ENDED  FAILED
fetch            1       2        3     40       5

WAITS       REPOSITORY     WHY                      ENDS
kind 30618  30617:aa:tool  until 2 branches\x1b[2J  in 1 h 23 min

REFUSED PUSH          REPOSITORY       REASON
2026-11-20T11:59:59Z  30617:aa:\ntool  no state event

no relays are followed
`
	if err := printStatus(&b, s, now, 0); err != nil || b.String() != git {
		t.Errorf("%v\n%s", err, b.String())
	}
	s.Git, s.Store.Disk = nil, nil
	b.Reset()
	if err := printStatus(&b, s, now, 0); err != nil || b.String() != "wss://relay.example.org, graspd v1: 151000 events, 1000 repositories\nno relays are followed\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// adminOf serves fixed documents.
func adminOf(t *testing.T, status, problems string) string {
	t.Helper()
	m := http.NewServeMux()
	m.HandleFunc("GET /status.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, status) })
	m.HandleFunc("GET /problems.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, problems) })
	m.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(problems, "stored") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, "this is how it is")
	})
	m.HandleFunc("POST /retry", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "trying "+r.FormValue("url")) })
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s.URL
}

const statusDocument = `{"relay":{"url":"wss://relay.example.org","version":"v1"},"store":{"events":5,"repositories":1,"head":9},"sync":{"relays":[]},"later":1}` + "\n"

func TestStatusExitCodes(t *testing.T) {
	well := adminOf(t, statusDocument, `{"problems":[]}`)
	ill := adminOf(t, statusDocument, `{"problems":["bootstrap relay wss://a.example.net is dead","nothing is stored"]}`)
	broken := adminOf(t, "<html>", `{"problems":[]}`)
	other := httptest.NewServer(http.NotFoundHandler())
	other.Close()
	empty := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(empty.Close)
	for _, c := range []struct {
		name, out, errs string
		code            int
		args            []string
	}{
		{"all is well", "5 events", "", exitOK, []string{"--admin", well}},
		{"host:port", "5 events", "", exitOK, []string{"--admin", strings.TrimPrefix(well, "http://") + "/"}},
		{"json", statusDocument, "", exitOK, []string{"--admin", well, "--json"}},
		{"problems", "5 events", "graspd: bootstrap relay wss://a.example.net is dead\ngraspd: nothing is stored\n", exitFail, []string{"--admin", ill}},
		{"json and problems", statusDocument, "graspd: nothing is stored\n", exitFail, []string{"--admin", ill, "--json"}},
		{"no JSON", "", broken + "/status.json", exitFail, []string{"--admin", broken}},
		{"another server", "", "HTTP status 404; is this the private listener", exitFail, []string{"--admin", empty.URL}},
		{"nobody there", "", "no answer from a running graspd (--admin says", exitFail, []string{"--admin", other.URL}},
		{"no URL", "", `--admin: "ftp://x" is not allowed: want a URL such as http://127.0.0.1:7335`, exitUsage, []string{"--admin", "ftp://x"}},
		{"arguments", "", `status takes no argument "now"`, exitUsage, []string{"now"}},
		{"healthy", "this is how it is\n", "", exitOK, []string{"--admin", well, "--health"}},
		{"not healthy", "", "graspd: this is how it is\n", exitFail, []string{"--admin", ill, "--health"}},
		{"retry", "trying wss://a.example.net/?x=1&y\n", "", exitOK, []string{"--admin", well, "--retry", "wss://a.example.net/?x=1&y"}},
		{"haste", "", `--interval: "1ms"`, exitUsage, []string{"--watch", "--interval", "1ms"}},
	} {
		code, out, errs := call(t, "", nil, append([]string{"status"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
			t.Errorf("%s: %d\n%s%s", c.name, code, out, errs)
		}
		if len(c.args) == 3 && c.args[2] == "--json" && out != statusDocument {
			t.Errorf("%s: %s", c.name, out)
		}
	}
	if code, out, errs := call(t, "", map[string]string{"GRASPD_ADMIN": well}, "status"); code != exitOK || !strings.Contains(out, "5 events") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// TestStatusWatches: it goes on through troubles, and Ctrl-C is no failure.
func TestStatusWatches(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/problems.json":
			fmt.Fprint(w, `{"problems":["mind the gap"]}`)
		case asked.Add(1) == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			fmt.Fprint(w, statusDocument)
		}
	}))
	t.Cleanup(s.Close)
	r := start(t, "status", "--watch", "--interval", "100ms", "--admin", s.URL)
	r.out.await(t, `(?s)5 events.*mind the gap.*HTTP status 503.*5 events.*mind the gap`)
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(r.out.String(), "\x1b") {
		t.Error("the screen is cleared where the output is no terminal")
	}
}

func TestStatusOfARunningRelay(t *testing.T) {
	us := serve(t, "--data", t.TempDir(), "--domain", "relay.example.org", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	code, out, errs := call(t, "", nil, "status", "--admin", base)
	if code != exitOK || !strings.Contains(out, "wss://relay.example.org, graspd ") || !strings.Contains(out, "no relays are followed") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

func TestRepositoriesTable(t *testing.T) {
	held, lacks, none := uint64(1200), uint64(3), uint64(0)
	r := admin.Repositories{Repositories: []admin.RepositoryStatus{
		{Address: "30617:aa4fc8665f5696e33db7e1a572e3b0f5b3d615837b0f362dcb1c8068b098c7b4:to\x1b[2Jol", Relays: []admin.RepositoryPart{
			{URL: "wss://a.example.net", Want: 5, Confirmed: 4, Held: &held, Lacks: &lacks}, {URL: "wss://b.example.net", Want: 5, Confirmed: 5, Held: &held, Lacks: &none},
		}},
		{Address: "30617:ab:other", Relays: []admin.RepositoryPart{{URL: "wss://a.example.net", Want: 1}}},
	}}
	const want = `REPOSITORY   OWNER     RELAY                CONFIRMED  HERE  RELAY LACKS
to\x1b[2Jol  aa4fc866  wss://a.example.net        4/5  1200            3
to\x1b[2Jol  aa4fc866  wss://b.example.net        5/5  1200            0
other        ab        wss://a.example.net        0/1     -            -
`
	var b strings.Builder
	if err := printRepositories(&b, r, 0); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := printRepositories(&b, admin.Repositories{}, 0); err != nil || b.String() != "no repository here names another relay\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}

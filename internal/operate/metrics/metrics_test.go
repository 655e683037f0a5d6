package metrics

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/status"
)

type (
	fakeStore store.Stats
	fakeDoor  ingest.Stats
	fakeRelay struct {
		open   relay.Stats
		passed relay.Traffic
	}
	fakeSync []status.Relay
)

func (s fakeStore) Stats() store.Stats { return store.Stats(s) }
func (s fakeStore) Disk() (store.Disk, error) {
	if s.Head == 0 {
		return store.Disk{}, store.ErrClosed
	}
	d := store.Disk{Free: 7000, Floor: 6000, InodeFloor: 400}
	if s.Head != 1 {
		d.Inodes = store.Inodes{Free: 500, All: 8000}
	}
	return d, nil
}
func (s fakeDoor) Stats() ingest.Stats                    { return ingest.Stats(s) }
func (s fakeRelay) Stats() relay.Stats                    { return s.open }
func (s fakeRelay) Traffic() relay.Traffic                { return s.passed }
func (s *fakeSync) Relays(context.Context) []status.Relay { return *s }

func named(u string, s status.Relay) status.Relay {
	s.URL = grasp.RelayURL(u)
	return s
}

// sample is a relay with something to tell of everything.
func sample() (Config, *fakeSync) {
	var d ingest.Stats
	d.Decided[store.Live][policy.Accept] = 7
	d.Decided[store.Direct][policy.Accept] = 3
	d.Decided[store.Direct][policy.Refuse] = 2
	d.Refused[policy.Refuse][4] = 2
	d.Latency[store.Direct].Classes[0] = 4
	d.Latency[store.Direct].Classes[1] = 1
	d.Latency[store.Direct].Sum = 9 * time.Millisecond
	d.Verified, d.Forged = 12, 1
	covered := 0.5
	s := &fakeSync{
		named("wss://a.example", status.Relay{
			Phase: "live", Connected: true, Want: status.Count{Repositories: 2, Roots: 30}, Confirmed: status.Count{Repositories: 1, Roots: 29}, Coverage: &covered,
			Lacks:    &status.Lacks{Events: 7, Repositories: 2},
			Counters: status.Counters{Attempts: 5, DialFailures: 2, Gaps: 4, Sources: status.Sources{Live: 6}, Equal: 100, NegSent: 1000, NegReceived: 500, Rounds: 3},
		}),
		named("wss://b.example", status.Relay{Phase: "dialing", Health: status.Dead, Failures: 9, Behind: time.Hour, Counters: status.Counters{Attempts: 10, DialFailures: 9}}),
	}
	return Config{
		Version: "v1", Store: fakeStore{Events: 50, DiskBytes: 5000, Head: 60, Repositories: 2}, Door: fakeDoor(d),
		Relay: fakeRelay{relay.Stats{Sessions: 2, Subscriptions: 3, Reconciliations: 4, LiveBytes: 5}, relay.Traffic{Taken: 8, TooSlow: 1, TooQuiet: 2, TooMuch: 3, TurnedAway: 4, Revoked: 5, RateLimited: 6, Refused: 7, Frames: 9, BytesIn: 10, Events: 11, BytesOut: 12}}, Sync: s,
	}, s
}

// TestTheFixedNames holds those that dashboards of the field use.
func TestTheFixedNames(t *testing.T) {
	c, _ := sample()
	const want = `
# HELP ngit_sync_connection_attempts_total Connections attempted, by result: success or failure.
# TYPE ngit_sync_connection_attempts_total counter
ngit_sync_connection_attempts_total{relay="wss://a.example",result="failure"} 2
ngit_sync_connection_attempts_total{relay="wss://a.example",result="success"} 3
ngit_sync_connection_attempts_total{relay="wss://b.example",result="failure"} 9
ngit_sync_connection_attempts_total{relay="wss://b.example",result="success"} 0
# HELP ngit_sync_events_total Events stored, by how they came: from clients (direct), or from other relays: by live subscriptions (live), from what a relay had stored before (catchup), or when graspd asked for everything again, once a day (daily).
# TYPE ngit_sync_events_total counter
ngit_sync_events_total{source="catchup"} 0
ngit_sync_events_total{source="daily"} 0
ngit_sync_events_total{source="direct"} 3
ngit_sync_events_total{source="live"} 7
# HELP ngit_sync_gap_events_total Events that a live subscription should have brought and did not, found later.
# TYPE ngit_sync_gap_events_total counter
ngit_sync_gap_events_total{relay="wss://a.example"} 4
ngit_sync_gap_events_total{relay="wss://b.example"} 0
# HELP ngit_sync_relay_connected 1 while the relay is connected, else 0.
# TYPE ngit_sync_relay_connected gauge
ngit_sync_relay_connected{relay="wss://a.example"} 1
ngit_sync_relay_connected{relay="wss://b.example"} 0
# HELP ngit_sync_relay_failures Failures in a row.
# TYPE ngit_sync_relay_failures gauge
ngit_sync_relay_failures{relay="wss://a.example"} 0
ngit_sync_relay_failures{relay="wss://b.example"} 9
# HELP ngit_sync_relay_status 1 healthy, 2 degraded, 3 dead.
# TYPE ngit_sync_relay_status gauge
ngit_sync_relay_status{relay="wss://a.example"} 1
ngit_sync_relay_status{relay="wss://b.example"} 3
# HELP ngit_sync_relays_connected_total Relays that are connected.
# TYPE ngit_sync_relays_connected_total gauge
ngit_sync_relays_connected_total 1
# HELP ngit_sync_relays_dead_total Relays that are dead: failing without a break for --sync-dead-after.
# TYPE ngit_sync_relays_dead_total gauge
ngit_sync_relays_dead_total 1
# HELP ngit_sync_relays_tracked_total Relays that hold a slot.
# TYPE ngit_sync_relays_tracked_total gauge
ngit_sync_relays_tracked_total 2
`
	err := testutil.CollectAndCompare(newCollector(c), strings.NewReader(want),
		"ngit_sync_connection_attempts_total", "ngit_sync_events_total", "ngit_sync_gap_events_total", "ngit_sync_relay_connected",
		"ngit_sync_relay_failures", "ngit_sync_relay_status", "ngit_sync_relays_connected_total", "ngit_sync_relays_dead_total", "ngit_sync_relays_tracked_total")
	if err != nil {
		t.Error(err)
	}
}

func TestTheFiguresOfTheParts(t *testing.T) {
	c, _ := sample()
	got := scrape(t, c)
	for _, line := range []string{
		`graspd_build_info{version="v1"} 1`,
		`graspd_ingest_events_total{outcome="refuse",source="direct"} 2`,
		`graspd_ingest_refused_total{outcome="refuse",prefix="pow"} 2`,
		`graspd_ingest_seconds_bucket{source="direct",le="0.001"} 4`,
		`graspd_ingest_seconds_bucket{source="direct",le="0.0025"} 5`,
		`graspd_ingest_seconds_bucket{source="direct",le="+Inf"} 5`,
		`graspd_ingest_seconds_sum{source="direct"} 0.009`,
		`graspd_ingest_signatures_total{result="forged"} 1`,
		`graspd_disk_free_bytes 7000`, `graspd_disk_floor_bytes 6000`, `graspd_disk_free_inodes 500`, `graspd_disk_floor_inodes 400`,
		`graspd_store_events 50`, `graspd_store_head 60`, `graspd_store_bytes 5000`,
		`graspd_relay_connections 2`, `graspd_relay_subscriptions 3`, `graspd_relay_reconciliations 4`, `graspd_relay_live_bytes 5`,
		`graspd_relay_connections_total 8`, `graspd_relay_turned_away_total 4`, `graspd_relay_revoked_total 5`,
		`graspd_relay_ended_total{reason="slow"} 1`, `graspd_relay_ended_total{reason="idle"} 2`, `graspd_relay_ended_total{reason="much"} 3`,
		`graspd_relay_refused_events_total{reason="rate"} 6`, `graspd_relay_refused_events_total{reason="limit"} 7`,
		`graspd_relay_received_messages_total 9`, `graspd_relay_received_bytes_total 10`,
		`graspd_relay_sent_events_total 11`, `graspd_relay_sent_bytes_total 12`,
		`graspd_sync_wanted{item="roots",relay="wss://a.example"} 30`, `graspd_sync_confirmed{item="repositories",relay="wss://a.example"} 1`,
		`graspd_sync_behind_seconds{relay="wss://b.example"} 3600`,
		`graspd_sync_events_total{relay="wss://a.example",source="live"} 6`,
		`graspd_sync_reconciliation_bytes_total{direction="sent",relay="wss://a.example"} 1000`,
		`graspd_sync_saved_bytes 8500`,
		`graspd_sync_coverage_ratio{relay="wss://a.example"} 0.5`,
		`graspd_sync_lacked_events{relay="wss://a.example"} 7`, `graspd_sync_lacking_repositories{relay="wss://a.example"} 2`,
		`go_goroutines `, `process_start_time_seconds `,
	} {
		if !strings.HasSuffix(line, " ") { // nobody knows the value of those
			line += "\n"
		}
		if !strings.Contains(got, "\n"+line) {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(got, `graspd_sync_coverage_ratio{relay="wss://b.example"}`) || strings.Contains(got, `graspd_sync_lacked_events{relay="wss://b.example"}`) {
		t.Error("a coverage that is not known is told")
	}
}

// TestSeriesGoWithTheirRelay: a relay that has lost its slot leaves no series
// behind, and one whose name is no text does no harm.
func TestSeriesGoWithTheirRelay(t *testing.T) {
	c, s := sample()
	if got := scrape(t, c); !strings.Contains(got, "b.example") {
		t.Fatal("the relay is not told of while it holds its slot")
	}
	*s = fakeSync{named("wss://c.example/\xff", status.Relay{Phase: "idle"})}
	got := scrape(t, c)
	if strings.Contains(got, "a.example") || strings.Contains(got, "b.example") || !strings.Contains(got, "c.example/\uFFFD") {
		t.Error("series do not follow the slots")
	}
	c.Sync = nil
	if got := scrape(t, c); strings.Contains(got, "ngit_sync_relay") {
		t.Error("relays are told of without --sync")
	}
}

// TestNamesAreByTheBook: units, suffixes and help texts are as Prometheus asks,
// but for the names that the field has fixed.
func TestNamesAreByTheBook(t *testing.T) {
	problems, err := testutil.CollectAndLint(newCollector(hosted()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !strings.HasPrefix(p.Metric, "ngit_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func scrape(t *testing.T, c Config) string {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(c).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	b, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("status %d, error %v: %s", w.Code, err, b)
	}
	return string(b)
}

func TestFaultsAreCounted(t *testing.T) {
	c, _ := sample()
	c.Faults = contain.New(nil, nil)
	for range 3 {
		c.Faults.Do("a client", func() { panic("planted") })
	}
	want := "# HELP graspd_faults_total " + faultsHelp + "\n# TYPE graspd_faults_total counter\ngraspd_faults_total 3\n"
	if err := testutil.CollectAndCompare(newCollector(c), strings.NewReader(want), "graspd_faults_total"); err != nil {
		t.Error(err)
	}
}

type scheduled struct{ b *status.Backups }

func (s scheduled) Status() status.Backups { return *s.b }

// TestBackupsAreTold where a relay makes some by itself, and nowhere else.
func TestBackupsAreTold(t *testing.T) {
	c, _ := sample()
	names := []string{"graspd_backup_last_success_timestamp_seconds", "graspd_backup_interval_seconds", "graspd_backup_failures", "graspd_backup_kept", "graspd_backup_bytes"}
	if n := testutil.CollectAndCount(newCollector(c), names...); n != 0 {
		t.Errorf("%d series without backups", n)
	}
	b := status.Backups{Every: status.Seconds{Duration: time.Hour}, Kept: 3, Bytes: 4096, Failures: 2}
	c.Backups = scheduled{&b}
	told := func(last string) {
		t.Helper()
		for name, want := range map[string]string{names[0]: last, names[1]: "3600", names[2]: "2", names[3]: "3", names[4]: "4096"} {
			text := "# TYPE " + name + " gauge\n" + name + " " + want + "\n"
			if err := testutil.CollectAndCompare(newCollector(c), strings.NewReader("# HELP "+name+" "+helpOf(c, name)+"\n"+text), name); err != nil {
				t.Error(err)
			}
		}
	}
	told("0")
	b.Last = status.Unix(1_700_000_000)
	told("1.7e+09")
}

func helpOf(c Config, name string) string {
	for _, f := range newCollector(c).families {
		if f.name == name {
			return f.help
		}
	}
	return ""
}

// TestFiguresOfTheDisk: what is not counted, or cannot be looked at, is not told; of the git data nothing is where it has no disk of its own.
func TestFiguresOfTheDisk(t *testing.T) {
	for head, want := range map[store.Seq]string{0: "", 1: "free_bytes floor_bytes", 2: "free_bytes floor_bytes free_inodes floor_inodes"} {
		c, _ := sample()
		c.Store = fakeStore{Head: head}
		if got := diskTold(t, c, "graspd_disk_"); got != want {
			t.Errorf("%d: %v, not %s", head, got, want)
		}
		c.Git = &Git{Host: fakeHost{}, Web: fakeWeb{}}
		if got := diskTold(t, c, "graspd_git_disk_"); got != "" {
			t.Errorf("%d: of git data: %v", head, got)
		}
		c.Git.Disk = func() *store.Disk {
			d, err := c.Store.Disk()
			if err != nil {
				return nil
			}
			return &d
		}
		if got := diskTold(t, c, "graspd_git_disk_"); got != want {
			t.Errorf("%d: of git data: %v, not %s", head, got, want)
		}
	}
}

// diskTold are the ends of the names of a disk's figures that are told.
func diskTold(t *testing.T, c Config, prefix string) string {
	t.Helper()
	text := scrape(t, c)
	var got []string
	for _, name := range []string{"free_bytes", "floor_bytes", "free_inodes", "floor_inodes"} {
		if strings.Contains(text, "\n"+prefix+name+" ") {
			got = append(got, name)
		}
	}
	return strings.Join(got, " ")
}

package status

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var full = Relay{
	URL: "wss://relay.example", Bootstrap: true, Mailbox: 12, Index: true, Phase: "dialing", Health: Degraded, Want: Count{5, 40}, Confirmed: Count{4, 39}, Unproven: Count{0, 3}, InFlight: 2, LiveREQs: 3,
	SweptRoots: 7, Turn: Seconds{3605*time.Second + 400*time.Millisecond}, Refused: 1, Negentropy: "works", Failures: 6, Cause: "refused by \xff\xfeit",
	FailingSince: Moment{time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)},
	NextAttempt:  Moment{time.Date(2026, 11, 21, 13, 30, 0, 987, time.FixedZone("", 3600))}, LastAlive: Moment{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)},
	Counters: Counters{Sources: Sources{12, 7400, 3}, Gaps: 4, Undelivered: 5, Attempts: 9, DialFailures: 6, Rounds: 11, NegSent: 1000, NegReceived: 500, Equal: 100},
	Uptime:   new(0.9996), Coverage: new(0.97), Connected: true, Behind: 90 * time.Second, Lacks: &Lacks{21, 2},
}

// TestTheDocumentAndBack holds what programs read, byte by byte, and that nothing of it is lost when it is read.
func TestTheDocumentAndBack(t *testing.T) {
	for want, r := range map[string]Relay{
		`{"url":"wss://relay.example","bootstrap":true,"mailbox_people":12,"index":true,"phase":"dialing","health":"degraded","want":{"repositories":5,"roots":40},` +
			`"confirmed":{"repositories":4,"roots":39},"unproven":{"repositories":0,"roots":3},"in_flight":2,"live_subscriptions":3,"swept_roots":7,"turn_seconds":3605,"refused_repositories":1,` +
			`"negentropy":"works","failures":6,"cause":"refused by ` + "\uFFFD" + `it","failing_since":"2026-11-20T12:30:00Z","next_attempt":"2026-11-21T12:30:00Z","last_alive":"2026-11-20T12:00:00Z",` +
			`"events":{"live":12,"catchup":7400,"daily":3},"gaps":4,"undelivered":5,"uptime":0.9996,"coverage":0.97}`: full,
		`{"url":"","bootstrap":false,"phase":"idle","health":"healthy","want":{"repositories":0,"roots":0},"confirmed":{"repositories":0,"roots":0},` +
			`"in_flight":0,"live_subscriptions":0,"swept_roots":0,"turn_seconds":0,"refused_repositories":0,"negentropy":"","failures":0,"cause":null,"failing_since":null,` +
			`"next_attempt":null,"last_alive":null,"events":{"live":0,"catchup":0,"daily":0},"gaps":0,"undelivered":0,"uptime":null,"coverage":null}`: {Phase: "idle", Health: Healthy},
	} {
		b, err := json.Marshal(r)
		if err != nil || string(b) != want {
			t.Errorf("%v\n%s\nwant\n%s", err, b, want)
		}
		var back Relay
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(back); err != nil || string(again) != want {
			t.Errorf("%v, and read and written again\n%s", err, again)
		}
		if d := (back.Turn.Duration - r.Turn.Duration).Abs(); d > time.Second/2 || !back.NextAttempt.Equal(r.NextAttempt.Truncate(time.Second)) {
			t.Errorf("%v and %v, were %v and %v", back.Turn, back.NextAttempt, r.Turn, r.NextAttempt)
		}
	}
}

func TestTimesThatCannotBeTold(t *testing.T) {
	for _, year := range []int{-1, 10_000, 60_000} {
		if b, err := json.Marshal(Moment{time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)}); err != nil || string(b) != "null" {
			t.Errorf("%d: %s, %v", year, b, err)
		}
	}
	var s Seconds
	if err := json.Unmarshal([]byte(`"soon"`), &s); err == nil {
		t.Error("a word is a number of seconds")
	}
}

// read is what a figure tells of a relay.
func read(f Figure, r *Relay) (values []float64, labels [][]string) {
	f.Read(r, func(v float64, l ...string) { values, labels = append(values, v), append(labels, l) })
	return values, labels
}

func TestFigures(t *testing.T) {
	want := map[string][]float64{
		"ngit_sync_relay_connected": {1}, "ngit_sync_connection_attempts_total": {6, 2}, "ngit_sync_relay_status": {2}, "ngit_sync_relay_failures": {6},
		"ngit_sync_gap_events_total": {4}, "graspd_sync_mailbox_people": {12}, "graspd_sync_wanted": {5, 40}, "graspd_sync_confirmed": {4, 39}, "graspd_sync_unproven": {0, 3}, "graspd_sync_behind_seconds": {90},
		"graspd_sync_in_flight": {2}, "graspd_sync_live_subscriptions": {3}, "graspd_sync_swept_roots": {7}, "graspd_sync_events_total": {12, 7400, 3},
		"graspd_sync_undelivered_total": {5}, "graspd_sync_reconciliation_rounds_total": {11}, "graspd_sync_reconciliation_bytes_total": {1000, 500},
		"graspd_sync_reconciled_events_total": {100}, "graspd_sync_uptime_ratio": {0.9996}, "graspd_sync_coverage_ratio": {0.97},
		"graspd_sync_lacked_events": {21}, "graspd_sync_lacking_repositories": {2},
	}
	unknown := []string{"graspd_sync_uptime_ratio", "graspd_sync_coverage_ratio", "graspd_sync_lacked_events", "graspd_sync_lacking_repositories"}
	for _, f := range Figures() {
		if f.Read == nil {
			continue
		}
		values, labels := read(f, &full)
		if !slices.Equal(values, want[f.Name]) {
			t.Errorf("%s is %v, want %v", f.Name, values, want[f.Name])
		}
		delete(want, f.Name)
		seen := map[string]bool{}
		for _, l := range labels {
			if len(l) != len(f.Labels) || seen[strings.Join(l, " ")] {
				t.Errorf("%s has the labels %v: %v", f.Name, f.Labels, labels)
			}
			seen[strings.Join(l, " ")] = true
		}
		if f.Counter != strings.HasSuffix(f.Name, "_total") {
			t.Errorf("%s, counter: %v", f.Name, f.Counter)
		}
		values, _ = read(f, &Relay{Phase: "idle"})
		if none := slices.Contains(unknown, f.Name); none != (len(values) == 0) {
			t.Errorf("%s of a relay of which nothing is known: %v", f.Name, values)
		}
	}
	if len(want) > 0 {
		t.Errorf("nothing tells %v", want)
	}
	for h, n := range map[Health]float64{Healthy: 1, Degraded: 2, Dead: 3} {
		if h.number() != n {
			t.Errorf("%s is %v", h, h.number())
		}
	}
}

// TestEveryFigureIsShown: whatever Prometheus is told of a relay, its page shows too, each line under a name of its own.
func TestEveryFigureIsShown(t *testing.T) {
	ids := map[string]bool{}
	number := func(n uint64) string { return "#" + strconv.FormatUint(n, 10) }
	for _, f := range Figures() {
		if len(f.Lines) == 0 {
			t.Errorf("%s is on no page", f.Name)
		}
		for _, l := range f.Lines {
			if l.ID == "" || l.Title == "" || ids[l.ID] {
				t.Errorf("a line of %s is called %q (%q)", f.Name, l.ID, l.Title)
			}
			ids[l.ID] = true
			if l.Text(&full, number) == "" {
				t.Errorf("%s: no text", l.ID)
			}
		}
	}
	text := func(r *Relay, id string) string {
		for _, f := range Figures() {
			for _, l := range f.Lines {
				if l.ID == id {
					return l.Text(r, number)
				}
			}
		}
		return "no such line"
	}
	for id, want := range map[string]string{
		"failures": "#6", "want-repositories": "#5", "confirmed-roots": "#39", "unproven": "#3", "mailbox": "#12", "in-flight": "#2", "live-subscriptions": "#3", "swept": "#7",
		"live": "#12", "catchup": "#7400", "daily": "#3", "gaps-counted": "#4", "undelivered": "#5", "lacked-events": "#21", "lacking": "#2", "rounds": "#11", "equal": "#100", "attempts": "#9", "why": full.Why(), "phase": "dialing", "health": "degraded", "dial-failures": "#6",
		"uptime": Percent(0.9996), "coverage": Percent(0.97), "behind": Duration(time.Minute), "reconciled-bytes": Bytes(1500).String(),
	} {
		if got := text(&full, id); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	for got, want := range map[Bytes]string{5000: "4 KiB", 3 << 20: "3.0 MiB", 5 << 30: "5.0 GiB"} {
		if got.String() != want {
			t.Errorf("%d bytes are %q, want %q", got, got.String(), want)
		}
	}
	for _, id := range []string{"uptime", "coverage", "lacked-events", "lacking"} {
		if got := text(&Relay{}, id); got != notKnown {
			t.Errorf("%s of a relay of which nothing is known: %q", id, got)
		}
	}
	for id, want := range map[string]string{"alive": "never", "failing": "never", "turn": "none", "bootstrap": "no", "failures": "#0"} {
		if got := text(&Relay{Failures: -1}, id); got != want {
			t.Errorf("%s of a relay of which nothing is known: %q", id, got)
		}
	}
}

// TestEveryCounterIsTold: whatever is counted has a metric.
func TestEveryCounterIsTold(t *testing.T) {
	sum := func(r *Relay) (s float64) {
		for _, f := range Figures() {
			if f.Read == nil {
				continue
			}
			values, _ := read(f, r)
			for i, v := range values {
				s += math.Pow(2, float64(i)) * v
			}
		}
		return s
	}
	var r Relay
	before := sum(&r)
	var each func(v reflect.Value)
	each = func(v reflect.Value) {
		for i := range v.NumField() {
			if v.Field(i).Kind() == reflect.Struct {
				each(v.Field(i))
				continue
			}
			v.Field(i).SetUint(7)
			if sum(&r) == before {
				t.Errorf("no metric tells %s", v.Type().Field(i).Name)
			}
			v.Field(i).SetUint(0)
		}
	}
	each(reflect.ValueOf(&r.Counters).Elem())
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestColumns(t *testing.T) {
	plain := func(n uint64) string { return strconv.FormatUint(n, 10) }
	var got []string
	for _, c := range Columns() {
		if told := rank(c.Of != nil) + rank(c.Count != nil) + rank(c.Ratio != nil); told != 1 || c.Hint == "" {
			t.Errorf("%s tells %d figures, or says nothing of itself", c.Title, told)
		}
		got = append(got, c.Title+" "+c.Text(&full, plain)+" "+c.Text(&Relay{}, plain))
		if c.Amiss(&full) != (c.Title == "Gaps") || c.Amiss(&Relay{}) {
			t.Errorf("%s: %v", c.Title, c.Amiss(&full))
		}
	}
	if want := []string{"Repositories 4/5 0/0", "Roots 39/40 0/0", "Events 7415 0", "Gaps 4 0", "Uptime 99.9% -", "Coverage 97.0% -"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if full.Events() != 7415 || full.Want.Items() != 45 {
		t.Errorf("%d events, %d items", full.Events(), full.Want.Items())
	}
}

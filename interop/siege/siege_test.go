package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/page"
)

func TestCommandLine(t *testing.T) {
	for _, bad := range [][]string{
		{"-only", "nothing"}, {"-only", "pings,"}, {"-for", "1ms"}, {"-events", "10"}, {"x"}, {"-graspd", "/nowhere"}, {"-for", "x"},
		{"-graspd", "siege_test.go", "-only", "pings", "-into", "x.md"}, {"-graspd", "siege_test.go", "-json", "-into", "x.md"},
	} {
		if _, err := parse(bad, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	o, err := parse([]string{"-only", "pings,filters", "-for", "3s", "-graspd", "siege_test.go"}, &bytes.Buffer{})
	if err != nil || !o.wants(pings) || !o.wants(filters) || o.wants(halves) || o.lasts != 3*time.Second {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := parse([]string{"-graspd", "siege_test.go"}, &bytes.Buffer{}); err != nil || !slices.ContainsFunc(attacks, o.wants) {
		t.Errorf("%+v, %v", o, err)
	}
}

// Every attack can be named and told, and no two have one name.
func TestAttacksAreTold(t *testing.T) {
	if all := names(); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("names twice: %q", all)
	}
	for _, a := range attacks {
		if a.does == "" || a.bound == "" || a.strike == nil || strings.ContainsAny(a.name+a.does+a.bound, "|\n") || strings.ContainsAny(a.name, ", ") {
			t.Errorf("%+v", a)
		}
	}
}

func TestShares(t *testing.T) {
	var hundred delays
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i)*time.Millisecond)
	}
	for _, x := range []struct {
		d     delays
		share float64
		want  time.Duration
	}{
		{hundred, 0.5, 50 * time.Millisecond}, {hundred, 0.99, 99 * time.Millisecond}, {hundred, 1, 100 * time.Millisecond}, {hundred, 0, time.Millisecond},
		{delays{3, 1, 2}, 0.5, 2}, {delays{3, 1, 2}, 0.99, 3}, {delays{7}, 0.5, 7}, {nil, 0.5, 0},
	} {
		if got := x.d.within(x.share); got != x.want {
			t.Errorf("%v of %d: %v instead of %v", x.share, len(x.d), got, x.want)
		}
	}
	if hundred[0] != 100*time.Millisecond {
		t.Error("they were sorted in their place")
	}
	if got := ratio(delays{time.Second}, delays{1500 * time.Millisecond}); got != " (×1.5 / ×1.5)" {
		t.Error(got)
	}
	if got := ratio(nil, hundred); got != "" {
		t.Error(got)
	}
	for d, want := range map[time.Duration]string{1500 * time.Microsecond: "1.5 ms", 12_340 * time.Microsecond: "12 ms", 5200 * time.Millisecond: "5.2 s"} {
		if span(d) != want {
			t.Errorf("%d is %s", d, span(d))
		}
	}
}

func TestFrames(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 65_535, 65_536, 100_000} {
		message := bytes.Repeat([]byte("x"), n)
		b := text(message)
		// A relay's frame is the same without the mask.
		b[1] &^= 0x80
		b = append(b[:len(b)-n-4], message...)
		r := bufio.NewReader(bytes.NewReader(append(b, 0x89, 0)))
		op, begun, length, err := nextFrame(r, make([]byte, 10))
		if err != nil || op != opText || length != n || len(begun) != min(n, 10) {
			t.Errorf("%d: %d, %q, %d, %v", n, op, begun, length, err)
		}
		if op, _, length, err := nextFrame(r, nil); err != nil || op != opPing || length != 0 {
			t.Errorf("after %d: %d, %d, %v", n, op, length, err)
		}
		if _, _, _, err := nextFrame(r, nil); err == nil {
			t.Errorf("after %d: one more", n)
		}
	}
	for begun, want := range map[string]bool{
		`["OK","00",false,"blocked: no"]`: true, `["OK","00",true,""]`: false, `["CLOSED","x",`: true, `["NOTICE","x"]`: true, `["NEG-ERR","x"`: true,
		`["EVENT","x",{"content":",false,`: false, `["EOSE","x"]`: false,
	} {
		if refuses([]byte(begun)) != want {
			t.Errorf("%s: %v", begun, !want)
		}
	}
}

// What the attackers send is what they mean to send.
func TestMessagesAreUnderstood(t *testing.T) {
	m, err := nostr.ParseClient(manyValues("s", 3))
	req, is := m.(nostr.Req)
	if err != nil || !is || len(req.Filters) != 2 {
		t.Fatalf("%T, %v", m, err)
	}
	values := 0
	for _, f := range req.Filters {
		for _, x := range f.Tags {
			if values += len(x.Values); len(x.Values) > 500 {
				t.Errorf("#%c has %d values", x.Name, len(x.Values))
			}
		}
	}
	if values != 44_000 || len(manyValues("s", 3)) > 256<<10 {
		t.Errorf("%d values in %d bytes", values, len(manyValues("s", 3)))
	}
	if m, err := nostr.ParseClient(nostr.AppendEventMsg(nil, deletion())); err != nil || len(m.(nostr.EventMsg).Event.Tags) != 1600 {
		t.Error(err)
	}
	e, err := nostr.ParseEvent(huge(1).AppendJSON(nil))
	if err != nil || len(e.Tags) != hugeTags+1 {
		t.Error(err)
	}
	if n := len(e.AppendJSON(nil)); n < 39e5 || n > 4<<20-100 {
		t.Errorf("%d bytes", n)
	}
}

func TestReport(t *testing.T) {
	sampled := watched{publish: sample{took: delays{time.Millisecond}}, query: sample{took: delays{2 * time.Millisecond}}}
	slow := watched{publish: sample{took: delays{5 * time.Second}, failed: 1}, query: sample{took: delays{4 * time.Millisecond}}}
	r := report{options: options{lasts: 12 * time.Second}, events: 123, rows: []row{
		{attack: pings, before: sampled, under: slow, peak: 50e6, got: "nothing", recovers: "60 ms", newcomers: welcome{tried: 3, connected: 2}},
		{attack: overlapping, before: sampled, under: sampled, died: "panic: | x", diedAfter: 3 * time.Second, newcomers: welcome{1, 1, 1, 1, 1, time.Second}},
		{attack: attack{name: "nested-tags"}, before: sampled, under: sampled},
		{attack: attack{name: "filters"}, before: sampled, under: sampled, left: []string{"2 quarantines are left"}},
	}}
	text := r.markdown()
	for _, want := range []string{
		"123 events stored before", "Each figure is of at least 1 publishes, 1 queries.", "| pings | " + pings.does + " | " + pings.bound + " |",
		"| pings | 1.0 ms / 1.0 ms | 5.0 s / 5.0 s, 1 without an answer (×5000.0 / ×5000.0) | 2.0 ms / 2.0 ms | 4.0 ms / 4.0 ms (×2.0 / ×2.0) | 50 MB | connected 2, asked 0, reconciled 0, published 0 of 3 | lives; answers 60 ms after it |",
		"| 1 of 1, within 1.0 s | **ended after 3.0 s**: panic: / x |", "| overlapping | **missed**: graspd ended: panic: / x |", "| nested-tags | met |", "| filters | **missed**: 2 quarantines are left |",
		"| pings | **missed**: publish: p99 5.0 s, may be 250 ms; publish: 1 of 1 ",
		"| pings | nothing |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, l := range []string{r.rows[0].line(), r.rows[1].line()} {
		if !strings.Contains(l, "publish 1.0 ms / 1.0 ms -> ") {
			t.Error(l)
		}
	}
}

// The figures are told for the bench too, of what was measured both without the attack and under it.
func TestFigures(t *testing.T) {
	both := watched{publish: sample{took: delays{3, 1, 2}}, query: sample{took: delays{4}}}
	r := report{options: options{json: true}, rows: []row{
		{attack: pings, before: both, under: watched{publish: sample{took: delays{30, 10, 20}, failed: 2}}},
		{attack: overlapping, before: both, under: both},
	}}
	var out bytes.Buffer
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	var got []page.Figure
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []page.Figure{
		{Attack: "pings", Request: "publish", Before: 2, Under: 20, Slowest: 30, Unanswered: 2},
		{Attack: "overlapping", Request: "publish", Before: 2, Under: 2, Slowest: 3},
		{Attack: "overlapping", Request: "query", Before: 4, Under: 4, Slowest: 4},
	}
	if !slices.Equal(got, want) || got[0].Ratio() != 10 {
		t.Errorf("%+v", got)
	}
	out.Reset()
	r.json = false
	if err := r.print(&out); err != nil || out.String() != r.markdown() {
		t.Errorf("%v: %s", err, &out)
	}
}

// TestTheBound: ten times as long as without the attack, or 250 ms, and nobody refused.
func TestTheBound(t *testing.T) {
	took := func(d time.Duration, failed int) watched {
		return watched{publish: sample{took: delays{d}, failed: failed}, page: sample{took: delays{d}}}
	}
	for _, c := range []struct {
		before, under time.Duration
		failed        int
		want          string
	}{
		{time.Millisecond, 250 * time.Millisecond, 0, ""},
		{time.Millisecond, 251 * time.Millisecond, 0, "publish: p99 251 ms, may be 250 ms; page: p99 251 ms, may be 250 ms"},
		{30 * time.Millisecond, 300 * time.Millisecond, 0, ""},
		{30 * time.Millisecond, 301 * time.Millisecond, 0, "publish: p99 301 ms, may be 300 ms; page: p99 301 ms, may be 300 ms"},
		{time.Millisecond, time.Millisecond, 1, "publish: 1 of 1 refused or lost, the first: <nil>"},
	} {
		if got := (row{before: took(c.before, 0), under: took(c.under, c.failed)}).misses(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// The page that is named has its place.
func TestThePageHasAPlace(t *testing.T) {
	b, err := os.ReadFile("../../docs/LOADS.md")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "LOADS.md")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := page.Replace(file, "siege", "x\n"); err != nil {
		t.Error(err)
	}
}

func TestLastWords(t *testing.T) {
	var l lastWords
	for _, s := range []string{"one\n", "panic: at the disco\n", "\tgoroutine 1\n"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Error(n, err)
		}
	}
	if l.String() != "panic: at the disco" {
		t.Error(l.String())
	}
	if n, err := l.Write(make([]byte, 2*mostWords)); n != 2*mostWords || err != nil || len(l.kept) != mostWords {
		t.Error(n, err, len(l.kept))
	}
	var other lastWords
	_, _ = other.Write([]byte("one\ntwo\n\n"))
	if other.String() != "two" {
		t.Error(other.String())
	}
}

func TestAddresses(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range []byte{honestNet, newcomerNet, attackerNet, helperNet, relayNet} {
		for i := range 600 {
			a := on(n, i)
			if seen[a.String()] || !a.IsLoopback() || a == proxy {
				t.Fatal(a)
			}
			seen[a.String()] = true
		}
	}
	for i, a := range customers(300) {
		net48, _ := a.Prefix(48)
		net64, _ := a.Prefix(64)
		if net48.String() != "2001:db8:101::/48" || seen[net64.String()] {
			t.Fatal(i, a)
		}
		seen[net64.String()] = true
	}
}

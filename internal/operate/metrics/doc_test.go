package metrics

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/METRICS.md")

const page = "../../../docs/METRICS.md"

// document writes the reference page from the families.
func document(families []*family) string {
	var b strings.Builder
	b.WriteString("# Metrics\n\ngraspd serves these figures at `/metrics` of its private listener (`--admin-listen`), for Prometheus, besides those of the Go\n" +
		"runtime (`go_…`) and of the process (`process_…`). A series with a `relay` label is there while that relay holds a slot. Counters begin at 0\nwhen graspd starts, those of a relay when it gets its slot.\n\n" +
		"This page is generated: `go test ./internal/operate/metrics -args -update`.\n\n| metric | type | labels | what it tells |\n| --- | --- | --- | --- |\n")
	for _, f := range families {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, f.kind, strings.Join(f.labels, ", "), f.help)
	}
	return b.String()
}

func TestThePageListsEveryMetric(t *testing.T) {
	families := newCollector(Config{}).families
	for _, f := range families {
		if f.help == "" {
			t.Errorf("%s has no help text", f.name)
		}
	}
	want := document(families)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/METRICS.md is not what the metrics are: go test ./internal/operate/metrics -args -update")
	}
}

package main

import (
	"os"
	"strings"
	"testing"
)

const someSections = `
## (b) Cold catch-up

| what | measured | compared to | ratio | target | met |
|---|---|---|---|---|---|
| cold catch-up from graspd | 5 events/s | (a): 10 events/s | 0.5 | ≥ 0.7 | **no** |
| cold catch-up from graspd: CPU for each event | 5 µs | (a): 5 µs | 1.00 | ≤ 1.25 | yes |

A note.

## (g) Serving

| what | measured | compared to | ratio | target | met |
|---|---|---|---|---|---|
| 500 newest (500 events), warm | 2 ms | the first time: 4 ms | 0.5 |  |  |
| 500 ids (499 events), warm | 7 ms | the first time: 35 ms | 0.2 | ≤ 3 ms | **no** |
`

// The rows at the top, and what stands in the way of targets, follow from the tables, and say the same when they are made again.
func TestWhatIsReadFirst(t *testing.T) {
	head := "# Performance\n\nHead.\n\n- a machine\n"
	page := readable(head + someSections)
	for _, want := range []string{
		head + "\n" + glanceHead + "| events brought over",
		"empty [(b)](#b-cold-catch-up) | 5 events/s | (a): 10 events/s | 0.5 |\n",
		"| the same: CPU for an event [(b)](#b-cold-catch-up) | 5 µs | (a): 5 µs | 1.00 |\n",
		"| 500 events by their ids [(g)](#g-serving) | 7 ms | the first time: 35 ms | 0.2 |\n\n## (b) Cold catch-up\n",
		"| yes |\n\nNot met, cold catch-up from graspd: both relays",
		".\n\nA note.\n\n## (g) Serving\n",
		"Not met, 500 ids (499 events), warm: ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if again := readable(page); again != page {
		t.Errorf("made again:\n%s\nnot\n%s", again, page)
	}
	two := readable(head + strings.ReplaceAll(someSections, "CPU for each event | 5 µs | (a): 5 µs | 1.00 | ≤ 1.25 | yes |\n", "CPU for each event | 5 µs | (a): 5 µs | 1.00 | ≤ 1.25 | yes |\n| the same from graspd | 5 events/s | (a): 10 events/s | 0.5 | ≥ 0.7 | **no** |\n"))
	if !strings.Contains(two, "\n\nNot met, cold catch-up from graspd; the same from graspd: both") {
		t.Errorf("one sentence for two rows:\n%s", two)
	}
	met := readable(strings.ReplaceAll(page, "**no**", "yes"))
	if strings.Contains(met, notMet) || !strings.Contains(met, "| yes |\n\nA note.\n") {
		t.Errorf("all is met:\n%s", met)
	}
	if none := readable(head + "\n## Other\n\nText.\n"); none != head+"\n## Other\n\nText.\n" {
		t.Errorf("a page without figures: %q", none)
	}
}

// The page that is kept has ten rows first, and a sentence for each target that is not met.
func TestThePageSaysWhatStandsInTheWay(t *testing.T) {
	b, err := os.ReadFile("../../docs/PERFORMANCE.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	if readable(page) != page {
		t.Error("the page is not as it is made: make bench BENCH='-only a -renew' makes its ten rows anew")
	}
	head, _, _ := strings.Cut(page, "\n## ")
	if n := strings.Count(head, "\n| ") - 1; n < len(atAGlance)-1 {
		t.Errorf("%d rows at the top", n)
	}
	_, sections := parted(page)
	for _, s := range sections {
		for l := range strings.Lines(s) {
			if cells := cellsOf(l); cells != nil && cells[5] == "**no**" && limitOf(letterOf(s), cells[0]) == "" {
				t.Errorf("nothing says why this target is not met: %s", cells[0])
			}
		}
	}
}

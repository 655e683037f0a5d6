package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/interop/page"
)

const pageOfSiege = `# Performance

## (j) Repositories

| what | measured | compared to | ratio | target | met |
|---|---|---|---|---|---|
| query beside ` + "`pings`" + ` | 1 ms | without: 9 ms | 9.00 |  |  |

## (k) Under attack

| what | measured | compared to | ratio | target | met |
|---|---|---|---|---|---|
| query beside ` + "`pings`" + ` | 3.00 ms, 99 of 100 within 9.00 ms | without: 1.00 ms | 3.00 | ≤ 4.00 | yes |
| publish beside ` + "`pings`" + ` | 900 µs, 99 of 100 within 2.00 ms | without: 1.00 ms | 0.9 |  |  |
| push beside ` + "`code-pages`" + ` | 2.00 ms, 99 of 100 within 9.00 ms, 3 without an answer | without: 1.00 ms | 2.00 |  |  |
`

func figure(request, attack string, under time.Duration, unanswered int) page.Figure {
	return page.Figure{Attack: attack, Request: request, Before: time.Millisecond, Under: under, Slowest: 2 * under, Unanswered: unanswered}
}

// A figure may be a third worse than the page's, or than without the attack; a client who was answered before may not be refused.
func TestWhatIsWorseThanThePage(t *testing.T) {
	was := rowsOf(pageOfSiege, "k")
	for _, c := range []struct {
		figure page.Figure
		worse  bool
		row    string // on the page
	}{
		{figure("query", "pings", 4*time.Millisecond, 0), false, "| 4.00 ms, 99 of 100 within 8.00 ms | without: 1.00 ms | 4.00 | ≤ 4.00 | yes |"},
		{figure("query", "pings", 4001*time.Microsecond, 0), true, "| 3.00 ms, 99 of 100 within 9.00 ms | without: 1.00 ms | 3.00 | ≤ 4.00 | yes |"},
		{figure("query", "pings", time.Millisecond, 1), true, "| 3.00 ms, 99 of 100 within 9.00 ms | without: 1.00 ms | 3.00 | ≤ 4.00 | yes |"},
		{figure("publish", "pings", 1333*time.Microsecond, 0), false, "| 1.33 ms, 99 of 100 within 2.67 ms | without: 1.00 ms | 1.33 | ≤ 1.33 | yes |"},
		{figure("publish", "pings", 1334*time.Microsecond, 0), true, "| 900 µs, 99 of 100 within 2.00 ms | without: 1.00 ms | 0.9 |  |  |"},
		{figure("push", "code-pages", time.Millisecond, 2), false, "| 1.00 ms, 99 of 100 within 2.00 ms, 2 without an answer | without: 1.00 ms | 1.00 | ≤ 2.67 | yes |"},
		{figure("query", "searches", time.Second, 7), false, "| 1.00 s, 99 of 100 within 2.00 s, 7 without an answer | without: 1.00 ms | 1000 |  |  |"},
	} {
		if got := len(worse([]page.Figure{c.figure}, was)) > 0; got != c.worse {
			t.Errorf("%+v: worse is %v", c.figure, got)
		}
		if row := "| " + strings.Join(underAttack(c.figure, was).cells(), " | ") + " |"; !strings.HasSuffix(row, c.row) || !strings.HasPrefix(row, "| "+rowName(c.figure)+" |") {
			t.Errorf("%+v:\n%s\nnot\n%s", c.figure, row, c.row)
		}
	}
	if found := worse([]page.Figure{figure("query", "pings", time.Hour, 9)}, nil); found != nil {
		t.Errorf("worse than a page without rows: %+v", found)
	}
}

// The attacks are those of the siege, whose page has each.
func TestTheAttacksAreThoseOfTheSiege(t *testing.T) {
	loads, err := os.ReadFile("../../docs/LOADS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range besieged {
		if !strings.Contains(string(loads), "\n| "+a+" | ") {
			t.Errorf("there is no attack %s", a)
		}
	}
}

// Of several tries the best one counts for each row.
func TestTheBestTryCounts(t *testing.T) {
	first := []page.Figure{figure("query", "pings", 5, 0), figure("publish", "pings", 5, 1), figure("push", "many-refs", 5, 0)}
	second := []page.Figure{figure("query", "pings", 4, 0), figure("publish", "pings", 6, 0), figure("clone", "pings", 1, 0)}
	want := []page.Figure{second[0], second[1], first[2]}
	if got := better(first, second); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := better(second[:2], first[:2]); !reflect.DeepEqual(got, second[:2]) {
		t.Errorf("the other way: %+v", got)
	}
	if got := attacksOf(first); !reflect.DeepEqual(got, []string{"pings", "many-refs"}) {
		t.Errorf("%q", got)
	}
}

// The page is read from the source; none is no failure, and one that cannot be read is.
func TestThePageOfBefore(t *testing.T) {
	root := t.TempDir()
	if text, err := pageBefore(root); text != "" || err != nil {
		t.Error(text, err)
	}
	path := filepath.Join(root, "docs", "PERFORMANCE.md")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := pageBefore(root); err == nil {
		t.Error("a directory is a page")
	}
	text, err := pageBefore("../..")
	if err != nil || !strings.HasPrefix(text, "# Performance\n") {
		t.Error(text, err)
	}
}

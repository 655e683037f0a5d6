package statustext

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/status"
)

// TestARefusalIsReadWhole: however narrow the terminal is, the reason stands whole below its event, so that its commands can be pasted.
func TestARefusalIsReadWhole(t *testing.T) {
	why := "blocked: " + strings.Repeat("a long reason, ", 30) + "ngit init --grasp-server git.example.org --defaults; then git push"
	list := []status.Refused{
		{Last: status.Moment{Time: time.Unix(1_700_000_000, 0)}, Times: 12, Author: "npub1" + strings.Repeat("x", 58), Called: "Ann\x1b", What: "announcement of a repository tool", Why: why},
		{Last: status.Moment{Time: time.Unix(1_700_000_000, 0)}, Times: 1, Author: "npub1y", Kind: 7, From: "wss://a.example", Why: "another\x1breason"},
	}
	var b strings.Builder
	if err := WriteRefused(&b, list, 80); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 5 || lines[2] != "    "+why || lines[4] != `    another\x1breason` {
		t.Fatalf("%s", b.String())
	}
	for _, i := range []int{0, 1, 3} {
		if n := len([]rune(lines[i])); n > 80 || strings.Contains(lines[i], "\x1b") {
			t.Errorf("%d characters: %q", n, lines[i])
		}
	}
	if !strings.HasPrefix(lines[0], "LAST") || !strings.Contains(lines[1], "   12  npub1x") || !strings.Contains(lines[3], "kind 7") && !strings.Contains(lines[3], "wss://a.example") {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := WriteRefused(&b, nil, 80); err != nil || b.String() != "graspd has refused nothing since it started\n" {
		t.Errorf("%v %s", err, b.String())
	}
}

package compliance

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Answers to the checks.
const (
	passed = "passed"
	failed = "failed"
	tied   = "tied" // a state signed within the second of another one, which by its id is the newer one (NIP-01), was refused
)

// results are the checks that ran, with what came of each.
func results(report []byte) map[string]string {
	report = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAll(report, nil)
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s+([✓✗]) (\w+)(?:\n\s+Error: (.*))?$`).FindAllStringSubmatch(string(report), -1) {
		switch {
		case m[1] == "✓":
			out[m[2]] = passed
		case strings.Contains(m[3], "rejected event: invalid: a newer version of t"):
			out[m[2]] = tied
		default:
			out[m[2]] = failed
		}
	}
	return out
}

// expected reads which checks graspd does not pass.
func expected(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	fails := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			fails[line] = true
		}
	}
	return fails
}

// TestTheChecksOfOthers: graspd passes every check but those that expected.txt names.
func TestTheChecksOfOthers(t *testing.T) {
	audit, at := theirs(t, "grasp-audit"), serve(t, "--contributors")
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, audit, "audit", "--relay", "ws://"+at)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
	report, err := cmd.CombinedOutput() // it fails where a check does
	got := results(report)
	if len(got) < 74 {
		t.Fatalf("%d checks ran: %v\n%s", len(got), err, report)
	}
	fails := expected(t)
	for name, what := range got {
		if what == failed && !fails[name] || what == passed && fails[name] {
			t.Errorf("%s has %s", name, what)
		}
		delete(fails, name)
	}
	for name := range fails {
		t.Errorf("there is no check %s any more", name)
	}
	if t.Failed() {
		t.Logf("%s", report)
	}
	t.Logf("%d checks", len(got))
}

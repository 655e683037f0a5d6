package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// engine are the packages whose tests have to notice a fault in what fills the
// relay, in this order: the quickest tests first.
var engine = []string{"./internal/sync/want", "./internal/sync/peer/livesubs", "./internal/sync/peer", "./internal/sync/relaysync", "./internal/test/sim"}

// packages are those whose tests are asked in turn: the fault's own, then, for what the engine and the safety of events rest
// on, the engine's.
func (f fault) packages() []string {
	own := "./" + f.pkg
	switch f.pkg {
	case "internal/events/store": // and by what mends it
		return append([]string{own, "./internal/events/store/storecheck", "./internal/test/cluster"}, engine...)
	case "internal/events/store/commitlog", "internal/events/election":
		return []string{own, "./internal/events/store", "./internal/test/cluster"}
	case "internal/events/ingest", "internal/sync/want", "internal/sync/peer/livesubs", "internal/sync/peer", "internal/sync/relaysync", "internal/protocol/grasp", "internal/events/policy":
		return append([]string{own}, slices.DeleteFunc(slices.Clone(engine), func(p string) bool { return p == own })...)
	case "internal/events/store/layout", "internal/events/store/kv", "internal/events/store/index": // by those who write and read by it
		return []string{own, "./internal/events/store", "./internal/events/store/storecheck"}
	case "internal/events/store/storecheck":
		return []string{own, "./internal/events/store"}
	case "internal/base/backoff", "internal/sync/slots", "internal/sync/peer/refusal", "internal/sync/peer/demands", "internal/sync/peer/coverage", "internal/sync/peer/threads", "internal/sync/peer/paging", "internal/sync/peer/reconcile": // by those that they are parts of
		return append([]string{own}, engine...)
	case "internal/events/refdb": // by the door, and by what joins it and the disk
		return []string{own, "./internal/events/ingest", "./internal/git/hosting"}
	case "internal/base/publicnet": // by whatever dials on it
		return []string{own, "./internal/sync/relayconn"}
	case "internal/serve/front": // by what answers behind it
		return []string{own, "./internal/node", "./internal/serve/relay"}
	case "internal/node": // in whole worlds, and as a command
		return []string{own, "./internal/test/sim", "./cmd/graspd"}
	}
	return []string{own}
}

// plant runs the tests that match with the fault in place and returns the package and test that failed first; "" when none
// did. The test that caught it before is asked first, if there is one. The sources stay as they are.
func (f fault) plant(ctx context.Context, root, tests string) (string, error) {
	file, changed, err := f.apply(root)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "graspd-mutate")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, file, changed)
	if err != nil {
		return "", err
	}
	for _, q := range f.questions(tests) {
		if by, err := q.ask(ctx, root, overlay); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

// question is a package and the expression that chooses tests of it.
type question struct{ pkg, tests string }

// questions are those that are asked in turn.
func (f fault) questions(tests string) (all []question) {
	for _, p := range f.packages() {
		if pkg, test, _ := strings.Cut(f.caught, "."); tests == "" && pkg == path.Base(p) {
			all = append([]question{{p, "^" + test + "$"}}, all...)
		}
		all = append(all, question{p, tests})
	}
	return all
}

// ask runs the tests and returns the one that failed; "" when none did.
func (q question) ask(ctx context.Context, root, overlay string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-count=1", "-failfast", "-v", "-vet=off", "-ldflags=-s -w",
		"-timeout=5m", "-run", q.tests, q.pkg)
	cmd.Dir = root
	printed, err := cmd.CombinedOutput()
	if err == nil {
		return "", nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if by := culprit(string(printed)); by != "" {
		return path.Base(q.pkg) + "." + by, nil
	}
	return "", fmt.Errorf("go test %s fails without a failing test: %w\n%s", q.pkg, err, printed)
}

// writeOverlay writes the changed file and what tells the compiler to read it instead of the original.
func writeOverlay(dir, file, changed string) (string, error) {
	original, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	replacement, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(replacement, []byte(changed), 0o600), os.WriteFile(overlay, b, 0o600))
}

var (
	failed  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	running = regexp.MustCompile(`(?m)^\s+(Test\w+) \(\d`) // what ran when the time was up
	onStack = regexp.MustCompile(`graspd/internal/[\w/]+\.(Test\w+)`)
	begun   = regexp.MustCompile(`(?m)^=== RUN   (Test\w+)`)
)

// culprit finds the name of the test that failed, panicked or hung.
func culprit(printed string) string {
	for _, r := range []*regexp.Regexp{failed, running, onStack} {
		if m := r.FindStringSubmatch(printed); m != nil {
			return m[1]
		}
	}
	if all := begun.FindAllStringSubmatch(printed, -1); len(all) > 0 && strings.Contains(printed, "\npanic: ") { // in a goroutine that no test is under
		return all[len(all)-1][1]
	}
	return ""
}

package arch_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// direct matches a requirement of go.mod that is no indirect one.
var direct = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

// TestEveryDependencyHasALine: docs/DEPENDENCIES.md says of each module that go.mod requires directly what it is for, by its path or by its last
// name.
func TestEveryDependencyHasALine(t *testing.T) {
	page, _, _ := strings.Cut(text(t, "docs/DEPENDENCIES.md"), "\n## ")
	n := 0
	for _, m := range direct.FindAllStringSubmatch(text(t, "go.mod"), -1) {
		n++
		if !strings.Contains(page, "`"+m[1]+"`") && !strings.Contains(page, "`"+path.Base(m[1])+"`") {
			t.Errorf("docs/DEPENDENCIES.md says nothing of %s", m[1])
		}
	}
	if n < 10 {
		t.Errorf("only %d direct dependencies", n)
	}
}

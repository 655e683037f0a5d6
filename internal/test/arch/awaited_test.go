package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAwaitedLogTexts: the tests against programs of others wait for log lines, and run rarely. A text that is written anew fails here at once.
func TestAwaitedLogTexts(t *testing.T) {
	lines := text(t, filepath.Join("docs", "LOGS.md"))
	awaited := regexp.MustCompile(`\blogs\.has\("([^"]*)"\)`)
	found := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "..", "interop"), func(p string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".go") {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, m := range awaited.FindAllStringSubmatch(string(b), -1) {
			found++
			if !strings.Contains(lines, m[1]) {
				t.Errorf("%s waits for the log text %q, which docs/LOGS.md does not have", p, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no test waits for a log text: is it done in another way now?")
	}
}

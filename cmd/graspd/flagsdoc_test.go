package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/FLAGS.md anew")

// TestTheFlagsPageIsCurrent makes docs/FLAGS.md from what each command tells in its help.
func TestTheFlagsPageIsCurrent(t *testing.T) {
	page := flagsPage(t)
	name := filepath.Join("..", "..", "docs", "FLAGS.md")
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != page {
		t.Errorf("docs/FLAGS.md is not what the flags are (%v): make docs", err)
	}
}

func flagsPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Flags\n\nEach flag has an environment variable: `--log-level` is `GRASPD_LOG_LEVEL`. A flag wins over its variable, a\n" +
		"variable over the configuration file (`--config`), and the file over the default. An unknown flag or variable `GRASPD_…` is an error.\n" +
		"`--sync=false` turns a switch off. Lists are comma-separated, and their flags may be repeated. Durations are written as `5s`, `15m`,\n" +
		"`24h`, sizes as `512MiB`, `2GiB`. graspd says all that is wrong with a command line at once, with exit code 2. `graspd help COMMAND`\n" +
		"tells the same, and [DEPLOYING.md](DEPLOYING.md#settings) when to change what.\n\nThis page is generated: `make docs`.\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "\n## graspd %s\n\n`graspd %s`: %s.\n", c.name, c.usage(), c.about)
		if c.example != "" {
			fmt.Fprintf(&b, "\n    %s\n", c.example)
		}
		if c.likeServe() {
			b.WriteString("\nIt takes the flags of `graspd serve`.\n")
			continue
		}
		shown, shared := c.sections(c.rows(nil))
		for _, s := range shown {
			if c.grouped {
				fmt.Fprintf(&b, "\n### %s\n", s.title)
			}
			b.WriteString("\n| flag | default | |\n| --- | --- | --- |\n")
			for _, r := range s.rows {
				b.WriteString(flagLine(r))
			}
		}
		if len(shared) > 0 {
			fmt.Fprintf(&b, "\nSeldom needed here, and the same as for `graspd serve`: `--%s`.\n", strings.Join(shared, "`, `--"))
		}
	}
	if strings.Count(b.String(), "\n| `--") < 60 {
		t.Error("hardly any flags")
	}
	return b.String()
}

func flagLine(r setting) string {
	def := "none"
	if r.def != "" {
		def = "`" + r.def + "`"
	}
	cell := strings.NewReplacer("|", "\\|").Replace
	return fmt.Sprintf("| `%s` | %s | %s |\n", cell(strings.TrimSpace("--"+r.name+" "+r.placeholder)), def, cell(r.about))
}

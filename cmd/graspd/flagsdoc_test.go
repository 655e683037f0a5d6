package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/FLAGS.md anew")

// TestTheFlagsPageIsCurrent makes docs/FLAGS.md from what each command says of its flags.
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
	b.WriteString("# Flags\n\nEach flag has an environment variable: `--log-level` is `GRASPD_LOG_LEVEL`. A flag goes before its variable, and that before\n" +
		"the default. A switch is turned off as `--sync=false`; lists are comma-separated, and the flag may be repeated. Durations are\n" +
		"written as `5s`, `15m`, `24h`, sizes as `512MiB`, `2GiB`. All that is wrong with a command line is said at once, with exit code 2.\n" +
		"[OPERATING.md](OPERATING.md) says when to change what.\n\nThis page is generated: `make docs`.\n")
	known := map[string]string{} // rows by the command that had them first
	for _, c := range commands() {
		rows := flagsOf(t, c)
		fmt.Fprintf(&b, "\n## graspd %s\n\n`graspd %s`: %s.\n", c.name, strings.TrimSpace(c.name+" "+c.args), c.about)
		table := false
		shared := map[string][]string{}
		for _, r := range rows {
			if from, ok := known[r.line]; ok {
				shared[from] = append(shared[from], "`--"+r.name+"`")
				continue
			}
			if known[r.line] = c.name; !table {
				table = true
				b.WriteString("\n| flag | default | |\n| --- | --- | --- |\n")
			}
			b.WriteString(r.line)
		}
		for _, from := range slices.Sorted(maps.Keys(shared)) {
			fmt.Fprintf(&b, "\nAs for `graspd %s`: %s.\n", from, strings.Join(shared[from], ", "))
		}
	}
	return b.String()
}

// flagRow is one line of the page.
type flagRow struct{ name, line string }

// flagsOf reads the flags of a command from its help.
func flagsOf(t *testing.T, c command) (out []flagRow) {
	var help strings.Builder
	if err := c.run(t.Context(), []string{"--help"}, stdio{out: &help}, noEnv); c.name != "version" && !errors.Is(err, errHelp) {
		t.Fatalf("%s --help: %v", c.name, err)
	}
	lines := strings.Split(help.String(), "\n")
	for i, l := range lines {
		l, ok := strings.CutPrefix(l, "  --")
		if !ok {
			continue
		}
		name, about, _ := strings.Cut(l, " ")
		_, def, _ := strings.Cut(lines[i+1], ", default ")
		if def != "none" {
			def = "`" + def + "`"
		}
		out = append(out, flagRow{name, fmt.Sprintf("| `--%s` | %s | %s |\n", name, def, strings.ReplaceAll(strings.TrimSpace(about), "|", "\\|"))})
	}
	if len(out) == 0 && c.name != "version" {
		t.Errorf("graspd %s has no flags", c.name)
	}
	return out
}

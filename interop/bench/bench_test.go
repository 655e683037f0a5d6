package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The bare server is another process of the same program.
func TestMain(m *testing.M) {
	if os.Getenv(bareEnv) != "" {
		if err := serveBare(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// The whole report comes about, with every part in it; what it says of so few events means nothing.
func TestReport(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	dir := t.TempDir()
	binary, page := filepath.Join(dir, "graspd"), filepath.Join(dir, "report.md")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", binary, "./cmd/graspd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("TMPDIR", dir)
	var progress bytes.Buffer
	if err := run(t.Context(), []string{"-graspd", binary, "-events", "300", "-engine=false", "-out", page}, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if !strings.Contains(string(b), "## ("+p.letter+") "+p.title) {
			t.Errorf("nothing about %s:\n%s", p.title, b)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "graspd-bench*")); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
}

func TestCommandLine(t *testing.T) {
	for _, bad := range [][]string{{"-only", "z"}, {"-renew", "-graspd", "bench_test.go"}, {"-renew", "-only", "a", "-out", "-", "-graspd", "bench_test.go"}, {"-events", "10"}, {"x"}, {"-graspd", "/nowhere"}} {
		var w bytes.Buffer
		if _, err := parse(bad, &w); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	o, err := parse([]string{"-only", "a,c", "-graspd", "bench_test.go"}, &bytes.Buffer{})
	if err != nil || !o.wants("a") || o.wants("b") || !o.wants("c") {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestWhatPackagePlanPrints(t *testing.T) {
	costs, err := growth([]byte("cpu: x\nBenchmarkGrow/50000-2 \t    2000\t     41234.5 ns/op\t 1 B/op\nBenchmarkGrow/500000-2   2000  50000 ns/op\nPASS\n"))
	if err != nil || costs[50_000] != 41_234 || costs[500_000] != 50*time.Microsecond {
		t.Errorf("%v, %v", costs, err)
	}
	if _, err := growth([]byte("BenchmarkGrow/50000-2 2000 5 ns/op\n")); err == nil {
		t.Error("one size is enough")
	}
	engine, err := engines([]byte("  memory: 10.0 MB for what is wanted, 1.5 MB for the peers\n memory: 2.0 MB for what is wanted, 0.5 MB for the peers"))
	if err != nil || engine[0] < 12.05 || engine[0] > 12.07 {
		t.Errorf("%v, %v", engine, err)
	}
	if _, err := engines(nil); err == nil {
		t.Error("no size is enough")
	}
}

func TestLines(t *testing.T) {
	var r report
	r.begin("x", "Things")
	r.add(line{what: "one", measured: "1"})
	r.add(line{what: "two", measured: "2", against: "one: 1", ratio: 2, target: "≤ 1"})
	r.add(line{what: "half", measured: "0.5", against: "one: 1", ratio: 0.5, target: "≤ 1", met: true})
	for _, want := range []string{"| one | 1 |  |  |  |  |", "| two | 2 | one: 1 | 2.00 | ≤ 1 | **no** |", "| half | 0.5 | one: 1 | 0.5 | ≤ 1 | yes |"} {
		if !strings.Contains(r.markdown(), want) {
			t.Errorf("no %q in\n%s", want, r.markdown())
		}
	}
	for d, want := range map[time.Duration]string{1500: "1.50 µs", 12_340_000: "12.3 ms", 123 * time.Second: "123 s"} {
		if span(d) != want {
			t.Errorf("%d is %s", d, span(d))
		}
	}
	if size(999) != "999 B" || size(12_340) != "12.3 kB" || size(210e6) != "210 MB" {
		t.Error(size(999), size(12_340), size(210e6))
	}
}

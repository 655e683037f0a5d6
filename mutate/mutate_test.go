package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every fault can be planted in the sources as they are, and is a change.
func TestFaultsApply(t *testing.T) {
	faults, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range faults {
		if seen[f.name] {
			t.Errorf("two faults are called %q", f.name)
		}
		seen[f.name] = true
		if _, err := f.apply(".."); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if f.old == f.new {
			t.Errorf("%s: changes nothing", f.name)
		}
	}
	if len(faults) < 25 {
		t.Errorf("only %d faults", len(faults))
	}
}

func TestCulprit(t *testing.T) {
	for printed, want := range map[string]string{
		"=== x\n--- FAIL: TestA (0.01s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n":                                "TestA",
		"panic: test timed out after 5m0s\n\trunning tests:\n\t\tTestB (4m59s)\n\ngoroutine 1":                 "TestB",
		"fatal error: all goroutines are asleep - deadlock!\n\ngraspd/internal/plan.TestC.func1(...)":          "TestC",
		"# graspd/internal/plan\n./x.go:1:2: declared and not used\nFAIL\tgraspd/internal/plan [build failed]": "",
	} {
		if got := culprit(printed); got != want {
			t.Errorf("%q: got %q, want %q", printed, got, want)
		}
	}
}

func TestParseRefusesWhatIsIncomplete(t *testing.T) {
	for _, list := range []string{"name only", "name\nfile.go\n+new", "name\nfile.go\nwhat\n-old"} {
		if _, err := parse(list); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
	got, err := parse("# comment\na b\nf.go\n-old\n-more\n+new\n\nc\ng.go\n-x\n")
	if err != nil || len(got) != 2 || got[0] != (fault{"a b", "f.go", "old\nmore\n", "new\n"}) || got[1].new != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Every fault was planted and is caught, by the test that is written down.
func TestEveryFaultIsCaught(t *testing.T) {
	faults, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	known, err := parseCaught(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if known[f.name] == "" {
			t.Errorf("%q is not known to be caught: make mutate NEW=1", f.name)
		}
	}
}

// What is written down names faults that there are, and tests that there are.
func TestWhatIsWrittenDownIsThere(t *testing.T) {
	faults, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCaught(record)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]fault{}
	for _, f := range faults {
		names[f.name] = f
	}
	for name, test := range c {
		f, ok := names[name]
		if !ok {
			t.Errorf("there is no fault %q", name)
			continue
		}
		if q := f.questions("", test); len(q) != len(f.packages())+1 || !defined(t, q[0]) {
			t.Errorf("%q: there is no %s", name, test)
		}
	}
}

// defined reports whether the tests of the package have that one.
func defined(t *testing.T, q question) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", q.pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(q.pkg, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\nfunc "+strings.Trim(q.tests, "^$")+"(t *testing.T) {") {
			return true
		}
	}
	return false
}

func TestParseCaught(t *testing.T) {
	got, err := parseCaught("plan.TestA a fault\nstore.TestB another one\n")
	if err != nil || len(got) != 2 || got["a fault"] != "plan.TestA" {
		t.Errorf("%v, %v", got, err)
	}
	for _, record := range []string{"plan.TestA\n", "a fault\n", "plan.TestA x\nplan.TestB x\n"} {
		if _, err := parseCaught(record); err == nil {
			t.Errorf("%q is taken", record)
		}
	}
}

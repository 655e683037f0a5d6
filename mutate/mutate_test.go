package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every fault can be planted in the sources as they are, and is a change.
func TestFaultsApply(t *testing.T) {
	faults := listed(t)
	if err := check("..", faults); err != nil {
		t.Error(err)
	}
	if len(faults) < 400 {
		t.Errorf("only %d faults", len(faults))
	}
}

func listed(t *testing.T) []fault {
	t.Helper()
	faults, err := readList("..")
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

func TestCulprit(t *testing.T) {
	for printed, want := range map[string]string{
		"=== x\n--- FAIL: TestA (0.01s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n":                                          "TestA",
		"panic: test timed out after 5m0s\n\trunning tests:\n\t\tTestB (4m59s)\n\ngoroutine 1":                           "TestB",
		"fatal error: all goroutines are asleep - deadlock!\n\ngraspd/internal/sync/peer.TestC.func1(...)":               "TestC",
		"=== RUN   TestD\n--- PASS: TestD (0.00s)\n=== RUN   TestE\n=== RUN   TestE/in_the_writer\npanic: nil pointer\n": "TestE",
		"=== RUN   TestD\nFAIL\tgraspd/internal/sync/peer [setup failed]\n":                                              "",
		"# graspd/internal/sync/peer\n./x.go:1:2: declared and not used\nFAIL\tgraspd/internal/sync/peer [build failed]": "",
	} {
		if got := culprit(printed); got != want {
			t.Errorf("%q: got %q, want %q", printed, got, want)
		}
	}
}

func TestParseRefusesWhatIsIncomplete(t *testing.T) {
	for _, list := range []string{"name only", "name\n+new", "name\nwhat\n-old", "name\n-old\ncaught by a.TestB", "name\ncaught by nobody\n-old"} {
		if _, err := parseList("p", list); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
	got, err := parseList("p", "# only a comment\n\n# comment\na b\ncaught by p.TestX\n-old\n-more\n+new\n\nc\n-x\n")
	if err != nil || len(got) != 2 || got[0] != (fault{"p", "a b", "p.TestX", "old\nmore\n", "new\n"}) || got[1] != (fault{pkg: "p", name: "c", old: "x\n"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is noted of one fault leaves everything else of the list as it is.
func TestNote(t *testing.T) {
	const list = "# Comment.\n\na\n-x\n\n# why\nb\ncaught by p.TestOld\n-y\n+z\n"
	for _, c := range []struct{ name, test, want string }{
		{"a", "p.TestA", "# Comment.\n\na\ncaught by p.TestA\n-x\n\n# why\nb\ncaught by p.TestOld\n-y\n+z\n"},
		{"b", "q.TestB", "# Comment.\n\na\n-x\n\n# why\nb\ncaught by q.TestB\n-y\n+z\n"},
		{"b", "", "# Comment.\n\na\n-x\n\n# why\nb\n-y\n+z\n"},
	} {
		if got, err := noteIn(list, fault{pkg: "p", name: c.name}, c.test); err != nil || got != c.want {
			t.Errorf("%s by %q: %q, %v", c.name, c.test, got, err)
		}
	}
	if _, err := noteIn(list, fault{pkg: "p", name: "c"}, "p.TestC"); err == nil {
		t.Error("a fault that is not there is noted")
	}
}

// A fault is found wherever in its package the lines stand, if that is one place.
func TestApply(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"a.go": "one\ntwo\n", "b.go": "two\nthree\n", "a_test.go": "three\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, changed, err := fault{pkg: ".", old: "three\n", new: "four\n"}.apply(root)
	if err != nil || filepath.Base(file) != "b.go" || changed != "two\nfour\n" {
		t.Errorf("%s %q %v", file, changed, err)
	}
	for _, old := range []string{"two\n", "five\n"} {
		if _, _, err := (fault{pkg: ".", old: old}).apply(root); err == nil {
			t.Errorf("%q is found", old)
		}
	}
}

// Every fault was planted and is caught, by a test that there is.
func TestEveryFaultIsCaught(t *testing.T) {
	for _, f := range listed(t) {
		if f.caught == "" {
			t.Errorf("%s: %q is not known to be caught: make mutate NEW=1", f.pkg, f.name)
			continue
		}
		if q := f.questions(""); len(q) != len(f.packages())+1 || !defined(t, q[0]) {
			t.Errorf("%s: %q: there is no %s", f.pkg, f.name, f.caught)
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
		begin := "\nfunc " + strings.Trim(q.tests, "^$")
		if strings.Contains(string(b), begin+"(t *testing.T) {") || strings.Contains(string(b), begin+"(f *testing.F) {") {
			return true
		}
	}
	return false
}

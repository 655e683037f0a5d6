package arch_test

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A district may have that many lines less than its number before the number has to go down with it. A type has no more than that many
// methods.
const (
	slack       = 250
	mostMethods = 60
)

// TestSizes is a ratchet: one number per district. What it has grown by is seen in sizes.txt, in the same change, whose message says what the
// lines buy; a district that shrank takes its number down.
func TestSizes(t *testing.T) {
	now := sizes(t)
	name := filepath.Join("testdata", "sizes.txt")
	if *update {
		if err := os.WriteFile(name, []byte(format(now)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	noted := make(map[string]int)
	for line := range strings.Lines(string(b)) {
		var district string
		var lines int
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscan(line, &district, &lines); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		noted[district] = lines
	}
	const notes = "go test ./internal/test/arch -run Sizes -args -update notes what is"
	for _, d := range slices.Sorted(maps.Keys(now)) {
		switch is, was := now[d], noted[d]; {
		case is > was:
			t.Errorf("%s has grown: %d lines, where %s allows %d (%s)", d, is, name, was, notes)
		case is < was-slack:
			t.Errorf("%s has shrunk: %d lines, where %s still allows %d (%s)", d, is, name, was, notes)
		}
	}
	for d := range noted {
		if _, ok := now[d]; !ok {
			t.Errorf("%s names %s, which is gone", name, d)
		}
	}
}

// sizes are the lines of each district's product code, rounded up to fifty, so that a small change needs no note.
func sizes(t *testing.T) map[string]int {
	t.Helper()
	out := make(map[string]int)
	for _, f := range sources(t) {
		if f.test || onlyTested(f.pkg) {
			continue
		}
		name := f.pkg
		if below, ok := within(f.pkg); ok {
			name = district(below)
		}
		out[name] += f.fset.File(f.ast.Pos()).LineCount()
	}
	for d, lines := range out {
		out[d] = (lines + 49) / 50 * 50
	}
	return out
}

// TestNoTypeIsSeveralThings: a type with more methods than one can look over is more than one thing.
func TestNoTypeIsSeveralThings(t *testing.T) {
	methods := make(map[string]int)
	for _, f := range sources(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && !f.test && !onlyTested(f.pkg) {
				methods[f.pkg+"."+receiver(fn)]++
			}
		}
	}
	if len(methods) < 300 {
		t.Fatalf("only %d types with methods", len(methods))
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods", name, n)
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(fn *ast.FuncDecl) string { return baseName(fn.Recv.List[0].Type) }

// baseName is the name of a type of the same package behind a pointer and type arguments; empty for any other type.
func baseName(e ast.Expr) string {
	for {
		switch of := e.(type) {
		case *ast.StarExpr:
			e = of.X
		case *ast.IndexExpr:
			e = of.X
		case *ast.IndexListExpr:
			e = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}

func format(now map[string]int) string {
	var b strings.Builder
	b.WriteString("# district, lines of its code without tests (to fifty)\n")
	for _, d := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintln(&b, d, now[d])
	}
	return b.String()
}

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

// A type has no more than that many methods.
const mostMethods = 60

// size is how large a district is.
type size struct{ lines, names int }

// slack is by how much a district may be smaller than its numbers before these have to go down with it.
var slack = size{250, 30}

// TestSizes is a ratchet: two numbers per district, its lines and its exported names. What it has grown by is seen in sizes.txt, in the same
// change, whose message says what that buys; a district that shrank takes its numbers down.
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
	noted := make(map[string]size)
	for line := range strings.Lines(string(b)) {
		var district string
		var n size
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscan(line, &district, &n.lines, &n.names); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		noted[district] = n
	}
	const notes = "go test ./internal/test/arch -run Sizes -args -update notes what is"
	for _, d := range slices.Sorted(maps.Keys(now)) {
		switch is, was := now[d], noted[d]; {
		case is.lines > was.lines || is.names > was.names:
			t.Errorf("%s has grown: %d lines and %d exported names, where %s allows %d and %d (%s)", d, is.lines, is.names, name, was.lines, was.names, notes)
		case is.lines < was.lines-slack.lines || is.names < was.names-slack.names:
			t.Errorf("%s has shrunk: %d lines and %d exported names, where %s still allows %d and %d (%s)", d, is.lines, is.names, name, was.lines, was.names, notes)
		}
	}
	for d := range noted {
		if _, ok := now[d]; !ok {
			t.Errorf("%s names %s, which is gone", name, d)
		}
	}
}

// sizes are the lines and the exported names of each district's product code, rounded up to fifty and to ten, so that a small change needs no
// note.
func sizes(t *testing.T) map[string]size {
	t.Helper()
	out := make(map[string]size)
	for _, f := range sources(t) {
		if f.test || onlyTested(f.pkg) {
			continue
		}
		name := f.pkg
		if below, ok := within(f.pkg); ok {
			name = district(below)
		}
		n := out[name]
		out[name] = size{n.lines + f.fset.File(f.ast.Pos()).LineCount(), n.names + exported(f.ast)}
	}
	for d, n := range out {
		out[d] = size{(n.lines + 49) / 50 * 50, (n.names + 9) / 10 * 10}
	}
	return out
}

// exported counts the exported functions, types, constants and variables of a file, and the exported methods of its exported types.
func exported(f *ast.File) (n int) {
	count := func(names ...*ast.Ident) {
		for _, x := range names {
			if x.IsExported() {
				n++
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d)) {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					count(s.Names...)
				}
			}
		}
	}
	return n
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

func format(now map[string]size) string {
	var b strings.Builder
	b.WriteString("# district, lines of its code without tests (to fifty), its exported names (to ten)\n")
	for _, d := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintln(&b, d, now[d].lines, now[d].names)
	}
	return b.String()
}

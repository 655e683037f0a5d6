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

// size is how much of a package there is to know: lines of its product code, the names that it exports, and the methods of its type that
// has most.
type size struct{ lines, exported, methods int }

// TestSizes is a ratchet: what a package has grown by is seen in sizes.txt, in the same change.
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
		var p string
		var s size
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscan(line, &p, &s.lines, &s.exported, &s.methods); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		noted[p] = s
	}
	for _, p := range slices.Sorted(maps.Keys(now)) {
		is, was := now[p], noted[p]
		if is.lines > was.lines || is.exported > was.exported || is.methods > was.methods {
			t.Errorf("%s has grown: %d lines, %d exported names and %d methods of one type, where %s allows %d, %d and %d (go test ./internal/arch -run Sizes -args -update notes what is)",
				p, is.lines, is.exported, is.methods, name, was.lines, was.exported, was.methods)
		}
	}
	for p := range noted {
		if _, ok := now[p]; !ok {
			t.Errorf("%s names %s, which is gone", name, p)
		}
	}
}

// sizes are those of all packages of the product. Lines are rounded up to fifty, so that a small change needs no note.
func sizes(t *testing.T) map[string]size {
	t.Helper()
	out := make(map[string]size)
	methods := make(map[string]map[string]int)
	for _, f := range sources(t) {
		if f.test || slices.Contains(testOnly, f.pkg) {
			continue
		}
		s := out[f.pkg]
		s.lines += f.fset.File(f.ast.Pos()).LineCount()
		if methods[f.pkg] == nil {
			methods[f.pkg] = make(map[string]int)
		}
		for _, d := range f.ast.Decls {
			s.exported += exported(d)
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[f.pkg][receiver(fn)]++
			}
		}
		for _, n := range methods[f.pkg] {
			s.methods = max(s.methods, n)
		}
		out[f.pkg] = s
	}
	for p, s := range out {
		s.lines = (s.lines + 49) / 50 * 50
		out[p] = s
	}
	return out
}

// exported counts the exported names of a declaration.
func exported(d ast.Decl) int {
	n := 0
	count := func(name *ast.Ident) {
		if name.IsExported() {
			n++
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		count(d.Name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				count(s.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					count(name)
				}
			}
		}
	}
	return n
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
	b.WriteString("# package, lines of code without tests (to fifty), exported names, methods of the type that has most\n")
	for _, p := range slices.Sorted(maps.Keys(now)) {
		s := now[p]
		fmt.Fprintf(&b, "%s %d %d %d\n", p, s.lines, s.exported, s.methods)
	}
	return b.String()
}

package arch_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestNoTwoNamesDifferInCaseAlone: of two methods of one type, or two functions of one package, that differ in case alone, nobody can
// say which is which.
func TestNoTwoNamesDifferInCaseAlone(t *testing.T) {
	seen := make(map[string]string)
	for _, f := range sources(t) {
		if f.test || onlyTested(f.pkg) {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			of := f.pkg + "."
			if fn.Recv != nil {
				of += receiver(fn) + "."
			}
			key := of + strings.ToLower(fn.Name.Name)
			if was, ok := seen[key]; ok && was != fn.Name.Name {
				t.Errorf("%s%s beside %s%s", of, was, of, fn.Name.Name)
			}
			seen[key] = fn.Name.Name
		}
	}
}

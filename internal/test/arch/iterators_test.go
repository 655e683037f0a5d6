package arch_test

import (
	"go/ast"
	"strings"
	"testing"
)

// Every function that returns an iterator is held to its contract by itertest, in a test of its own package: the runtime ends
// the process over an iterator that goes on after its reader has left.
func TestEveryIteratorIsHeldToItsContract(t *testing.T) {
	made := map[[2]string]bool{} // package and function
	held := map[[2]string]bool{}
	for _, f := range sources(t) {
		if f.test {
			for name := range heldIn(f) {
				held[[2]string{f.pkg, name}] = true
			}
			continue
		}
		if onlyTested(f.pkg) {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && returnsIterator(fn) {
				made[[2]string{f.pkg, fn.Name.Name}] = true
			}
		}
	}
	if len(made) < 10 {
		t.Errorf("only %d functions that return iterators are found", len(made))
	}
	for m := range made {
		if !held[m] && !indirectly[m] {
			t.Errorf("%s: %s returns an iterator, and no test of the package gives it to itertest", m[0], m[1])
		}
	}
}

// indirectly are those that another one, which is held, returns as they are.
var indirectly = map[[2]string]bool{
	{"internal/events/store/index", "sequence"}: true, // Query, Pairs, Marks, About
	{"internal/events/store/index", "Query"}:    true, // of store's View, as the next ones
	{"internal/events/store/index", "Pairs"}:    true,
	{"internal/events/store/index", "Marks"}:    true,
	{"internal/events/store/index", "About"}:    true,
}

func returnsIterator(fn *ast.FuncDecl) bool {
	if fn.Type.Results == nil {
		return false
	}
	for _, r := range fn.Type.Results.List {
		e := r.Type
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		}
		if s, ok := e.(*ast.SelectorExpr); ok && ident(s.X) == "iter" && strings.HasPrefix(s.Sel.Name, "Seq") {
			return true
		}
	}
	return false
}

// heldIn are the names of what is called within the arguments of itertest's functions.
func heldIn(f file) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); !ok || ident(s.X) != "itertest" {
			return true
		}
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					switch f := c.Fun.(type) {
					case *ast.SelectorExpr:
						names[f.Sel.Name] = true
					case *ast.Ident:
						names[f.Name] = true
					}
				}
				return true
			})
		}
		return true
	})
	return names
}

func ident(e ast.Expr) string {
	if i, ok := e.(*ast.Ident); ok {
		return i.Name
	}
	return ""
}

package arch_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// parts are the districts whose packages are put together by the node.
var parts = []string{"internal/events/", "internal/sync/", "internal/git/", "internal/serve/", "internal/operate/"}

// asked are the functions that their Configs may have: what they ask, and nothing that they tell.
var asked = []string{
	"Now", "Sign", "Room", "Space", "Trusts", "Keeps", "Rules", "Find", "Moved", "Challenge", "Token", "Authorization", "Exempt", "Processes", "Disk", "Problems", "Resolve", "Dial",
}

func isPart(f file) bool {
	return !f.test && f.pkg != "internal/git/gitcheck" && // a command waits for it, and shows how far it is
		slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(f.pkg, p) })
}

// No part of the relay calls another one back: a Config has no function but those that its owner asks.
func TestNoCallbacksBetweenSubsystems(t *testing.T) {
	seen, named := 0, functionTypes(t)
	for _, f := range sources(t) {
		if !isPart(f) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok || s.Name.Name != "Config" {
				return true
			}
			seen++
			for _, field := range s.Type.(*ast.StructType).Fields.List {
				if !isFunction(field.Type, named) {
					continue
				}
				for _, name := range field.Names {
					if !slices.Contains(asked, name.Name) {
						t.Errorf("%s: Config.%s is a function: let others follow store.Since, store.Changes or a channel", f.pkg, name.Name)
					}
				}
			}
			return false
		})
	}
	if seen < 20 {
		t.Errorf("only %d Configs are seen", seen)
	}
}

// No part of the relay gets another one after it was made: no exported method keeps a function or a pointer to another part in a field of
// its receiver. Whoever makes a part gives it all of them, so that there is no circle, and no time at which one is missing.
func TestNoPartIsHandedOverLater(t *testing.T) {
	methods, named := 0, functionTypes(t)
	for _, f := range sources(t) {
		if !isPart(f) {
			continue
		}
		for _, d := range f.ast.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || !m.Name.IsExported() || len(m.Recv.List[0].Names) == 0 {
				continue
			}
			if _, shared := m.Recv.List[0].Type.(*ast.StarExpr); !shared {
				continue // the method changes a copy
			}
			methods++
			handed := map[string]bool{}
			for _, p := range m.Type.Params.List {
				for _, name := range p.Names {
					handed[name.Name] = isFunction(p.Type, named) || isAnotherPart(f, p.Type)
				}
			}
			keeper := m.Recv.List[0].Names[0].Name
			ast.Inspect(m.Body, func(n ast.Node) bool {
				set, ok := n.(*ast.AssignStmt)
				if !ok || len(set.Lhs) != len(set.Rhs) {
					return true
				}
				for i, to := range set.Lhs {
					field, isField := to.(*ast.SelectorExpr)
					from, isName := set.Rhs[i].(*ast.Ident)
					if isField && isName && handed[from.Name] && rootOf(field) == keeper {
						t.Errorf("%s: %s.%s keeps %s: give it to whoever makes the part", f.pkg, typeOf(m.Recv.List[0].Type), m.Name.Name, from.Name)
					}
				}
				return true
			})
		}
	}
	if methods < 500 {
		t.Errorf("only %d methods are seen", methods)
	}
}

// isAnotherPart reports whether a type is a pointer to a type of another package that is a part.
func isAnotherPart(f file, x ast.Expr) bool {
	p, ok := x.(*ast.StarExpr)
	if !ok {
		return false
	}
	s, ok := p.X.(*ast.SelectorExpr)
	return ok && slices.ContainsFunc(imports(f), func(path string) bool {
		inside, ours := strings.CutPrefix(path, module)
		return ours && strings.HasSuffix(path, "/"+rootOf(s)) && slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(inside, p) })
	})
}

// rootOf returns the variable with which a.b.c begins; "" where it begins with none.
func rootOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return rootOf(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func typeOf(x ast.Expr) string {
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if name, ok := x.(*ast.Ident); ok {
		return name.Name
	}
	return "a generic type"
}

// functionTypes are the names of all types that are functions.
func functionTypes(t *testing.T) map[string]bool {
	named := map[string]bool{}
	for _, f := range sources(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if _, is := s.Type.(*ast.FuncType); is {
					named[s.Name.Name] = true
				}
			}
			return true
		})
	}
	return named
}

func isFunction(x ast.Expr, named map[string]bool) bool {
	switch x := x.(type) {
	case *ast.FuncType:
		return true
	case *ast.Ident:
		return named[x.Name]
	case *ast.SelectorExpr:
		return named[x.Sel.Name]
	}
	return false
}

package arch_test

import (
	"go/ast"
	"slices"
	"testing"
)

// feeders are the packages that others follow by feeds and channels alone: none of them calls who follows.
var feeders = []string{"internal/events/refdb", "internal/events/ingest", "internal/git/hosting", "internal/git/gitsync", "internal/sync/relaysync"}

// asked are the functions that their Configs may have: what they ask, and nothing that they tell.
var asked = []string{"Now", "Sign", "Room", "Space", "Trusts", "Keeps"}

// No subsystem calls another one back: the Config of a feeder has no function but those that it asks.
func TestNoCallbacksBetweenSubsystems(t *testing.T) {
	seen, named := 0, functionTypes(t)
	for _, f := range sources(t) {
		if f.test || !slices.Contains(feeders, f.pkg) {
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
	if seen != len(feeders) {
		t.Errorf("%d Configs of %d", seen, len(feeders))
	}
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

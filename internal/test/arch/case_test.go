package arch_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// methods are the names of a type's methods, and the types that it embeds.
type methods struct{ own, embeds []string }

// TestMethodsDifferInMoreThanCase: whoever hears of a method's name knows which method of the type is meant, also where it comes from a type
// that is embedded.
func TestMethodsDifferInMoreThanCase(t *testing.T) {
	packages := map[string]map[string]*methods{}
	for _, f := range sources(t) {
		if f.test { // such files export methods of their packages under the same names
			continue
		}
		p := f.pkg
		if packages[p] == nil {
			packages[p] = map[string]*methods{}
		}
		of := func(name string) *methods {
			if packages[p][name] == nil {
				packages[p][name] = &methods{}
			}
			return packages[p][name]
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				m := of(receiver(fn))
				m.own = append(m.own, fn.Name.Name)
			}
			eachStruct(d, func(name string, s *ast.StructType) { of(name).embeds = embedded(s) })
		}
	}
	found := 0
	for p, types := range packages {
		for name := range types {
			seen := map[string]string{}
			for _, m := range methodsOf(types, name, nil) {
				found++
				lower := strings.ToLower(m)
				if other := seen[lower]; other != "" && other != m {
					t.Errorf("%s: %s has the methods %s and %s", p, name, other, m)
				}
				seen[lower] = m
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d methods found", found)
	}
}

// methodsOf returns the methods of a type and of what it embeds. Types of the path embed each other.
func methodsOf(types map[string]*methods, name string, path []string) []string {
	m := types[name]
	if m == nil || slices.Contains(path, name) {
		return nil
	}
	out := slices.Clone(m.own)
	for _, e := range m.embeds {
		out = append(out, methodsOf(types, e, append(path, name))...)
	}
	return out
}

// eachStruct calls do with the structs that a declaration declares.
func eachStruct(d ast.Decl, do func(string, *ast.StructType)) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.TYPE {
		return
	}
	for _, s := range g.Specs {
		if s, ok := s.(*ast.TypeSpec); ok {
			if x, ok := s.Type.(*ast.StructType); ok {
				do(s.Name.Name, x)
			}
		}
	}
}

// embedded returns the types of the same package that a struct embeds.
func embedded(s *ast.StructType) (out []string) {
	for _, f := range s.Fields.List {
		if len(f.Names) > 0 {
			continue
		}
		if name := baseName(f.Type); name != "" {
			out = append(out, name)
		}
	}
	return out
}

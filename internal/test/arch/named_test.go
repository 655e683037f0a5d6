package arch_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	goFile    = regexp.MustCompile(`\b(?:[a-z0-9_]+/)*[a-z0-9_]+\.go\b`)
	nameIn    = regexp.MustCompile("`([A-Za-z]+)` in `([a-z0-9_/]+\\.go)`")
	fileThen  = regexp.MustCompile("`([a-z0-9_/]+\\.go)`: `([A-Za-z]+)`")
	walkPages = []string{"CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/DEPENDENCIES.md"}
)

// TestFilesNamedInTheDocsAreThere: a page names no file that is gone, and a walk through the code finds each function in the file that it
// names.
func TestFilesNamedInTheDocsAreThere(t *testing.T) {
	all := sources(t)
	at := func(name string) []file {
		return slices.DeleteFunc(slices.Clone(all), func(f file) bool { return !strings.HasSuffix("/"+f.path, "/"+name) })
	}
	walked := 0
	for _, page := range walkPages {
		s := text(t, page)
		for _, name := range goFile.FindAllString(s, -1) {
			if len(at(name)) == 0 {
				t.Errorf("%s names %s, which is not there", page, name)
			}
		}
		for _, m := range nameIn.FindAllStringSubmatch(s, -1) {
			walked++
			if !slices.ContainsFunc(at(m[2]), func(f file) bool { return declares(f, m[1]) }) {
				t.Errorf("%s: %s is not in %s", page, m[1], m[2])
			}
		}
		for _, m := range fileThen.FindAllStringSubmatch(s, -1) {
			walked++
			if !slices.ContainsFunc(at(m[1]), func(f file) bool { return declares(f, m[2]) }) {
				t.Errorf("%s: %s is not in %s", page, m[2], m[1])
			}
		}
	}
	if walked < 5 {
		t.Errorf("only %d functions of the walks were found", walked)
	}
}

// declares reports whether a file declares a function or method of that name.
func declares(f file, name string) bool {
	return slices.ContainsFunc(f.ast.Decls, func(d ast.Decl) bool {
		x, ok := d.(*ast.FuncDecl)
		return ok && x.Name.Name == name
	})
}

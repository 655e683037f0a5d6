package arch_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	word     = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]*)\| ([^|]*)\|$`)
	wordType = regexp.MustCompile("`([a-z0-9]+)\\.([A-Z][A-Za-z0-9]*)`")
)

// TestWordsAreThoseOfTheCode keeps docs/WORDS.md from naming types that are gone, and from explaining a word twice.
func TestWordsAreThoseOfTheCode(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "WORDS.md"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, f := range sources(t) {
		for _, d := range f.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && !f.test {
				for _, s := range g.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						declared[f.ast.Name.Name+"."+s.Name.Name] = true
					}
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, row := range word.FindAllStringSubmatch(string(b), -1) {
		name := row[1]
		if name == "word" || strings.Trim(name, "-") == "" {
			continue
		}
		if seen[name] {
			t.Errorf("%q is explained twice", name)
		}
		seen[name] = true
		for _, typ := range wordType.FindAllStringSubmatch(row[3], -1) {
			if !declared[typ[1]+"."+typ[2]] {
				t.Errorf("%q: there is no type %s.%s", name, typ[1], typ[2])
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d words", len(seen))
	}
}

package arch_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// riddles are forms of comments that have to be read twice, each with what to write in its place.
var riddles = []struct {
	form    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`^\w+ takes that `), "say what it does: records, is told"},
}

// fieldRiddle is the beginning of a field's comment that is a part of a sentence about the field before.
var fieldRiddle = regexp.MustCompile(`^(of (these|those|which|whom)|that each|whose|whom)\b`)

// TestCommentsAreReadOnce keeps comments from forms that their reader has to take apart.
func TestCommentsAreReadOnce(t *testing.T) {
	for _, f := range sources(t) {
		for _, g := range f.ast.Comments {
			for _, r := range riddles {
				if r.form.MatchString(g.Text()) {
					t.Errorf("%s: %q: %s", f.fset.Position(g.Pos()), first(g.Text()), r.instead)
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if x, ok := n.(*ast.Field); ok && !f.test && fieldRiddle.MatchString(x.Comment.Text()) {
				t.Errorf("%s: %q: name what the field has", f.fset.Position(x.Pos()), first(x.Comment.Text()))
			}
			return true
		})
	}
}

func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

package arch_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linked   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headline = regexp.MustCompile(`(?m)^#{1,4} (.*)$`)
	dropped  = regexp.MustCompile(`[^\pL\pN _-]`)
)

// TestLinksOfPagesLead: a link from page to page leads to a file that is there, and to a headline of it.
func TestLinksOfPagesLead(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range append(pages, more...) {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			t.Fatal(err)
		}
		page := filepath.ToSlash(rel)
		for _, m := range linked.FindAllStringSubmatch(text(t, page), -1) {
			if strings.Contains(m[1], ":") || strings.HasPrefix(m[1], "#/") {
				continue // of another site
			}
			n++
			to, part, _ := strings.Cut(m[1], "#")
			if to == "" {
				to = page
			} else {
				to = path.Join(path.Dir(page), to)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if part != "" && !headlines(text(t, to))[part] {
				t.Errorf("%s links to %s, which is no headline there", page, m[1])
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d links", n)
	}
}

// headlines are the names under which the headlines of a page are linked to.
func headlines(page string) map[string]bool {
	out := make(map[string]bool)
	for _, m := range headline.FindAllStringSubmatch(page, -1) {
		out[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

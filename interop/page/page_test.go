package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graspd/graspd/interop/page"
)

func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	text := "above\n<!-- make x -->\nold\n<!-- end of make x -->\nbelow\n<!-- make y -->\n<!-- end of make y -->\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, report := range []string{"longer than it was\n", "new\n"} {
		if err := page.Replace(file, "x", report); err != nil {
			t.Fatal(err)
		}
	}
	want := "above\n<!-- make x -->\n\nnew\n\n<!-- end of make x -->\nbelow\n<!-- make y -->\n<!-- end of make y -->\n"
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNoPlace(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "<!-- make x -->\n", "<!-- end of make x -->\n<!-- make x -->\n"} {
		file := filepath.Join(dir, "page.md")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := page.Replace(file, "x", "new\n"); err == nil {
			t.Errorf("%q has a place", text)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%q was changed to %q", text, got)
		}
	}
	if err := page.Replace(filepath.Join(dir, "none"), "x", "new\n"); err == nil {
		t.Error("a file that is not there has a place")
	}
}

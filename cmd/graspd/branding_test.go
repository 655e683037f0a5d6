package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThePagesAreTheOperators: they have the operator's colours, the start page has their text as HTML that does no harm, and SIGHUP
// reads that anew.
func TestThePagesAreTheOperators(t *testing.T) {
	h := hostOne(t)
	host := strings.TrimPrefix(string(h.us.url), "ws://")
	if code := h.us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	file := filepath.Join(t.TempDir(), "about.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# Harbor\n\nFor **boats** and [piers](https://example.org/piers).\n\n<script>alert(1)</script>\n\n![picture](https://example.org/p.png)\n")
	us := serve(t, "--git", "--data", h.data, "--sync=false", "--listen", host, "--about", "@"+file, "--color", "#05a", "--color-dark", "#9cf")
	start := read(t, "http://"+host+"/")
	for _, want := range []string{"<strong>boats</strong>", `<a href="https://example.org/piers"`, "Harbor</h2>"} {
		if !strings.Contains(start, want) {
			t.Errorf("the start page lacks %s", want)
		}
	}
	if strings.Contains(start, "<script") || strings.Contains(start, "<img") {
		t.Errorf("the text is not as it is to be: %s", start)
	}
	for _, page := range []string{start, read(t, h.url)} {
		if !strings.Contains(page, "--accent: #0055aa;") || !strings.Contains(page, "--accent: #99ccff;") || strings.Contains(page, "--accent: #6b3fa0") {
			t.Errorf("the colours are not the operator's: %.900s", page)
		}
	}
	write("Now for *ships*.")
	hangUp(t)
	us.logs.await(t, "settings reread")
	if now := read(t, "http://"+host+"/"); !strings.Contains(now, "<em>ships</em>") || strings.Contains(now, "boats") {
		t.Error("the text is the former one")
	}
	write(strings.Repeat("x", mostAbout+1))
	hangUp(t)
	us.logs.await(t, "a setting cannot be read again.*about")
	if code := us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, args := range [][]string{{"--about", "@" + file}, {"--about", "@" + file + "x"}, {"--about", "\xff"}, {"--color", "#fc0"}, {"--color", "blue"}, {"--color-dark", "#123"}} {
		for _, command := range []string{"serve", "config"} {
			if code, _, errs := call(t, "", nil, append([]string{command}, args...)...); code != exitUsage || !strings.Contains(errs, args[0]+": ") {
				t.Errorf("%s %.80v: %d %s", command, args, code, errs)
			}
		}
	}
}

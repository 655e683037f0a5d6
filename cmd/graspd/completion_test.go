package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestShellsComplete: each shell reads its script, which asks graspd for what may come next.
func TestShellsComplete(t *testing.T) {
	for _, shell := range shells() {
		code, script, errs := call(t, "", nil, "completion", shell)
		if code != exitOK || errs != "" || !strings.Contains(script, "__complete") {
			t.Fatalf("%s: %d %s", shell, code, errs)
		}
		if path, err := exec.LookPath(shell); err == nil {
			cmd := exec.Command(path, "-n")
			cmd.Stdin = strings.NewReader(script)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s does not read it: %v\n%s", shell, err, out)
			}
		}
	}
	for _, tt := range []struct{ line, want string }{
		{"ser", "serve"},
		{"serve --log-f", "--log-format"},
		{"--domai", "--domain"},
		{"serve --log-format j", "json"},
		{"serve --log-level de", "debug"},
		{"serve --log-level=de", "debug"},
		{"serve --quiet --bootstrap wss://a.example --boots", "--bootstrap"},
		{"--bootstrap wss://a.example --domai", "--domain"},
		{"status --repo", "--repositories"},
		{"export --repo", ""},
		{"help impo", "import"},
		{"completion z", "zsh"},
		{"key ex", "export"},
		{"key --da", "--data"},
		{"export --data ", ""},
	} {
		code, out, _ := call(t, "", map[string]string{"GRASPD_NONSENSE": "x"}, append([]string{"__complete"}, strings.Split(tt.line, " ")...)...)
		offered := func(s string) bool { return strings.HasPrefix(out, s+"\t") || strings.Contains("\n"+out, "\n"+s+"\n") }
		if code != exitOK || tt.want != "" && !offered(tt.want) || tt.want == "" && out[0] != ':' {
			t.Errorf("%q: %d %q, want %q", tt.line, code, out, tt.want)
		}
	}
	for _, c := range commands() {
		_, out, _ := call(t, "", nil, "__complete", "")
		if !strings.Contains(out, c.name+"\t"+c.about) {
			t.Errorf("no %s in %q", c.name, out)
		}
		_, out, _ = call(t, "", nil, "__complete", c.name, "--")
		for _, r := range c.rows(nil) {
			if !strings.Contains(out, "--"+r.name+"\t"+r.about) {
				t.Errorf("%s lacks --%s", c.name, r.name)
			}
		}
	}
}

func TestCompletionIsOfAShell(t *testing.T) {
	for _, args := range [][]string{{"completion"}, {"completion", "csh"}, {"completion", "bash", "zsh"}, {"man", "graspd"}} {
		if code, out, errs := call(t, "", nil, args...); code != exitUsage || out != "" || errs == "" {
			t.Errorf("%q: %d %q %q", args, code, out, errs)
		}
	}
}

// TestTheManualPage names every flag, and man reads it without a complaint where there is man.
func TestTheManualPage(t *testing.T) {
	code, page, errs := call(t, "", nil, "man")
	if code != exitOK || errs != "" {
		t.Fatalf("%d %s", code, errs)
	}
	for _, c := range commands() {
		if !strings.Contains(page, ".SS graspd "+c.name) {
			t.Errorf("no %s", c.name)
		}
	}
	for _, c := range commands() {
		for _, r := range c.rows(nil) {
			if !strings.Contains(page, roff("--"+r.name)) {
				t.Errorf("no --%s of %s", r.name, c.name)
			}
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "'") {
			t.Errorf("a request by mistake: %q", line)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("there is no groff")
	}
	cmd := exec.Command(groff, "-man", "-ww", "-z", "-Kutf8")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}

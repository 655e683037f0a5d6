package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestShellsComplete asks bash itself, and of the others that they name everything.
func TestShellsComplete(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code, script, errs := call(t, "", nil, "completion", shell)
		if code != exitOK || errs != "" {
			t.Fatalf("%s: %d %s", shell, code, errs)
		}
		for _, c := range commands() {
			if !strings.Contains(script, c.name) {
				t.Errorf("%s lacks %s", shell, c.name)
			}
			for _, r := range c.rows(nil) {
				if !strings.Contains(script, "--"+r.name) && !strings.Contains(script, "-l "+r.name+" ") {
					t.Errorf("%s lacks --%s of %s", shell, r.name, c.name)
				}
			}
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
		{"graspd ser", "serve"},
		{"graspd serve --log-f", "--log-format"},
		{"graspd --domai", "--domain"},
		{"graspd serve --log-format j", "json"},
		{"graspd serve --log-level de", "debug"},
		{"graspd status --repo", "--repositories"},
		{"graspd export --repo", ""},
		{"graspd help impo", "import"},
		{"graspd completion z", "zsh"},
		{"graspd key ex", "export"},
		{"graspd key --da", "--data"},
	} {
		if got := completed(t, tt.line); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
		}
		if got, ok := completedByFish(t, tt.line); ok && got != tt.want {
			t.Errorf("fish: %q: %q, want %q", tt.line, got, tt.want)
		}
	}
}

// completedByFish is what fish makes of a line; ok is false where there is no fish.
func completedByFish(t *testing.T, line string) (got string, ok bool) {
	t.Helper()
	fish, err := exec.LookPath("fish")
	if err != nil {
		return "", false
	}
	var script bytes.Buffer
	completeFish(&script)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "graspd"), nil, 0o700); err != nil { // fish completes for programs that it finds
		t.Fatal(err)
	}
	file := filepath.Join(dir, "graspd.fish")
	if err := os.WriteFile(file, script.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(fish, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fish: %v", err)
	}
	got, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\t")
	return got, true
}

// completed is what bash makes of a line whose last word is not complete.
func completed(t *testing.T, line string) string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	var script bytes.Buffer
	completeBash(&script)
	name := filepath.Join(t.TempDir(), "graspd")
	if err := os.WriteFile(name, script.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bash, "--norc", "-c", `. "$1"; COMP_WORDS=($2); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _graspd; echo "${COMPREPLY[*]}"`, "bash", name, line).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
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
	for _, r := range everyFlag() {
		if !strings.Contains(page, roff("--"+r.name)) {
			t.Errorf("no --%s", r.name)
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

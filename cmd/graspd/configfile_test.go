package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written writes a file and returns its name.
func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "graspd.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// settle is what a command line makes of the settings of serve.
func settle(t *testing.T, env environment, args ...string) (c Config, problems []string) {
	t.Helper()
	serve, _ := commandNamed("serve")
	problems, err := parseAlone("serve", "", c.settings(), args, env.withFile(serve, args))
	if err != nil {
		t.Fatal(err)
	}
	return c, problems
}

func TestConfigurationFile(t *testing.T) {
	file := written(t, `
domain = "git.example.org"      # a comment
name = "from the file"
description = "from the file"
contact = "mailto:file@example.org"
min-pow = 12
git-max-push = "1GiB"
sync = false
bootstrap = ["wss://a.example.org", "wss://b.example.org"]
`)
	c, problems := settle(t, environment{"GRASPD_DESCRIPTION": "from the variable", "GRASPD_NAME": "from the variable"}, "--config", file, "--name", "from the flag")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if c.Domain != "git.example.org" || c.Info.Name != "from the flag" || c.Info.Description != "from the variable" || c.Info.Contact != "mailto:file@example.org" ||
		c.MinPoW != 12 || c.Git.Limits.Push != 1<<30 || c.Sync || strings.Join(c.Bootstrap, " ") != "wss://a.example.org wss://b.example.org" || c.Listen != "127.0.0.1:7334" {
		t.Errorf("%+v", c)
	}
	for _, args := range [][]string{{"--config=" + file}, {"-config", file}, {"--name", "--config", "--config", file}} {
		if c, problems := settle(t, nil, args...); c.MinPoW != 12 || len(problems) > 0 {
			t.Errorf("%q: %d bits %q", args, c.MinPoW, problems)
		}
	}
	if c, _ := settle(t, environment{"GRASPD_CONFIG": file}); c.MinPoW != 12 {
		t.Error("the variable names no file")
	}
	other := written(t, "min-pow = 3")
	if c, _ := settle(t, environment{"GRASPD_CONFIG": file}, "--config", other); c.MinPoW != 3 || c.Domain != "" {
		t.Errorf("the flag does not win: %+v", c)
	}
	if c, problems := settle(t, environment{"GRASPD_MIN_POW": "", "GRASPD_CONFIG": file}); len(problems) != 1 || c.MinPoW != 0 {
		t.Errorf("an empty variable does not win: %q", problems)
	}
}

// All that is wrong with file, variables and flags is said at once, each where it stands.
func TestEverythingWrongWithTheSettingsIsSaidAtOnce(t *testing.T) {
	file := written(t, "domian = \"x\"\nmin_pow = 3\nmin-pow = 99\nfrobnicate = 1\nlisten = [\"a\"]\nname = true\nsync = true\nquiet = \"perhaps\"\n[git]\nmax-push = 1\n")
	code, out, errs := call(t, "", map[string]string{"GRASPD_STORE_CACHE": "much", "GRASPD_DOMIAN": "x"}, "serve", "--config", file, "--sync-max-tags", "0", "--nonsense")
	if code != exitUsage || out != "" {
		t.Errorf("exit code %d, said %q", code, out)
	}
	for _, want := range []string{
		file + `:1: there is no setting "domian"; did you mean domain?`,
		file + `:2: there is no setting "min_pow"; did you mean min-pow?`,
		file + `:3: min-pow: "99" is not allowed: want a number from 0 to 64`,
		file + `:4: there is no setting "frobnicate" (graspd help serve`,
		file + `:5: listen: takes one value and no list`,
		file + `:6: name: is no switch`,
		file + `:8: quiet: "perhaps" is not allowed`,
		file + `:9: [git]: there are no tables`,
		`GRASPD_STORE_CACHE: "much" is not allowed`,
		`did you mean GRASPD_DOMAIN?`,
		`--sync-max-tags: "0" is not allowed`,
		`there is no flag --nonsense`,
	} {
		if !strings.Contains(errs, "graspd: "+want) && !strings.Contains(errs, want) {
			t.Errorf("not said: %s\n%s", want, errs)
		}
	}
	for _, tt := range []struct{ file, want string }{
		{filepath.Join(t.TempDir(), "none.toml"), "--config: "},
		{t.TempDir(), "--config: "},
		{written(t, "domain = git.example.org\n"), ":1: is no TOML"},
		{written(t, "domain = \"\xff\"\n"), "not a text file"},
		{written(t, "# "+strings.Repeat("x", configBytes)), "larger than 1024 KiB"},
		{written(t, "config = \"other.toml\"\n"), ":1: config: a file names no other file"},
		{written(t, "deny-pubkeys = [\"nobody\"]\n"), "nobody"},
	} {
		if code, _, errs := call(t, "", nil, "serve", "--config", tt.file); code != exitUsage || !strings.Contains(errs, tt.want) {
			t.Errorf("exit code %d, said %q, want %q", code, errs, tt.want)
		}
	}
}

// What graspd config writes has every flag, is taken as a file, and says what was in force.
func TestConfigWritesAFile(t *testing.T) {
	args := []string{"--domain", "git.example.org", "--bootstrap", "wss://a.example.org", "--bootstrap", "wss://b.example.org,wss://c.example.org", "--min-pow", "7", "--sync=f",
		"--description", "a \"quoted\"\nname # no comment", "--trusted-proxies", "10.0.0.0/8,127.0.0.1", "--git-max-push", "1GiB"}
	code, out, errs := call(t, "", nil, append([]string{"config"}, args...)...)
	if code != exitOK || errs != "" {
		t.Fatalf("%d %s", code, errs)
	}
	for _, r := range new(Config).settings() {
		if n := strings.Count(out, "\n"+r.name+" = ") + strings.Count(out, "\n# "+r.name+" = "); n != 1 && r.name != "config" {
			t.Errorf("%s stands there %d times", r.name, n)
		}
	}
	for _, want := range []string{"\nmin-pow = 7\n", "\nsync = false\n", `bootstrap = ["wss://a.example.org", "wss://b.example.org", "wss://c.example.org"]`, "\n# listen = \"127.0.0.1:7334\"\n", "\ngit = false\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not written", want)
		}
	}
	want, _ := settle(t, noEnv, args...)
	got, problems := settle(t, nil, "--config", written(t, out))
	if len(problems) > 0 || !sameConfig(got, want) {
		t.Errorf("%q\n%+v\n%+v", problems, got, want)
	}
	all := out
	for _, r := range new(Config).settings() {
		all = strings.Replace(all, "\n# "+r.name+" = ", "\n"+r.name+" = ", 1)
	}
	if got, problems := settle(t, nil, "--config", written(t, all)); len(problems) > 0 || !sameConfig(got, want) {
		t.Errorf("with every default uncommented: %q\n%+v", problems, got)
	}
	again := written(t, out)
	if code, twice, errs := call(t, "", nil, "config", "--config", again); code != exitOK || twice != out {
		t.Errorf("%d %s: written anew it is another file", code, errs)
	}
	for _, wrong := range [][]string{ // as serve says it, of the first flag
		{"--min-pow", "x"}, {"--domain", "not a host"}, {"--bootstrap", "nobody"}, {"--index-relays", "wss://a.example.org"}, {"--admin-pubkeys", "nobody"}, {"--private"},
		{"--members", "nobody"}, {"--deny-pubkeys", "nobody"}, {"--archive-read-only"}, {"--backup-dir", "/data/backups", "--data", "/data"},
	} {
		if code, out, errs := call(t, "", nil, append([]string{"config"}, wrong...)...); code != exitUsage || out != "" || !strings.Contains(errs, wrong[0]) {
			t.Errorf("%q: %d %q %q", wrong, code, out, errs)
		}
	}
}

// Commands that talk to a running relay find it by the same file.
func TestStatusReadsTheFile(t *testing.T) {
	file := written(t, "admin-listen = \"127.0.0.1:1\"\n")
	if _, _, errs := call(t, "", nil, "status", "--config", file); !strings.Contains(errs, "127.0.0.1:1") {
		t.Errorf("said %q", errs)
	}
}

// sameConfig compares all but functions.
func sameConfig(a, b Config) bool {
	return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b)
}

// The doctor knows the domain from the same file.
func TestTheDoctorReadsTheFile(t *testing.T) {
	file := written(t, "domain = \"not a host\"\n")
	if code, _, errs := call(t, "", nil, "doctor", "--config", file); code != exitUsage || !strings.Contains(errs, "not a host") {
		t.Errorf("exit code %d, said %q", code, errs)
	}
}

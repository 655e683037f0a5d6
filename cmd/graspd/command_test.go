package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// call runs one command line to its end.
func call(t *testing.T, stdin string, env map[string]string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	all := maps.Clone(noEnv)
	maps.Copy(all, env)
	code = run(t.Context(), args, stdio{strings.NewReader(stdin), &o, &e}, all)
	return code, o.String(), e.String()
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "-v", "--version", "-version"} {
		if code, out, errs := call(t, "", nil, arg); code != exitOK || out != "graspd "+versionString()+"\n" || errs != "" {
			t.Errorf("%s: %d %q %q", arg, code, out, errs)
		}
	}
}

// A mistyped command gets one suggestion and not a page of help.
func TestUnknownCommand(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"sreve"}, `graspd: there is no command "sreve"; did you mean graspd serve?`},
		{[]string{"hlep"}, `graspd: there is no command "hlep"; did you mean graspd help?`},
		{[]string{"frobnicate", "--help"}, `graspd: there is no command "frobnicate" (see graspd --help)`},
		{[]string{"help", "exprot"}, `graspd: there is no command "exprot"; did you mean graspd export?`},
	} {
		code, out, errs := call(t, "", nil, tt.args...)
		if code != exitUsage || out != "" || errs != tt.want+"\n" {
			t.Errorf("%q: exit code %d, said %q and %q, want %q", tt.args, code, out, errs, tt.want)
		}
	}
}

// TestEveryDefaultIsAllowed parses each default through the flag's own check.
func TestEveryDefaultIsAllowed(t *testing.T) {
	var c Config
	for _, r := range c.settings() {
		if err := r.set(r.def); err != nil {
			t.Errorf("--%s: %v", r.name, err)
		}
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	env := map[string]string{"GRASPD_SYNC_MAX_TAGS": "none", "GRASPD_LOG_LEVEL": "loud"}
	code, _, errs := call(t, "", env, "serve", "--listen", "0.0.0.0:7334", "--sync-batch-window", "5", "--log-format", "xml",
		"--bootstrap", "wss://fine.example.com,http://user:pass@bad.example.com", "--store-cache", "big", "--sync=maybe", "--pubkey", "npub1x",
		"--nonsense", "1", "--data", t.TempDir(), "extra", "--sync-max-relays", "0")
	if code != exitUsage {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{
		`GRASPD_SYNC_MAX_TAGS: "none" is not allowed: want a number from 1 to 2000`, `GRASPD_LOG_LEVEL: "loud"`,
		`--sync-batch-window: "5" is not allowed: want a duration`, `--log-format: "xml" is not allowed: want text or json`,
		`--domain: needed`, `--bootstrap: "http://user:pass@bad.example.com"`, `--store-cache: "big"`, `--sync: "maybe"`, `--sync-max-relays: "0"`, `--pubkey: "npub1x"`,
		`no argument "extra"`, `-nonsense`,
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in:\n%s", want, errs)
		}
	}
	if strings.Contains(errs, "fine.example.com\" is not allowed") {
		t.Errorf("a good value is blamed:\n%s", errs)
	}
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	var c Config
	env := environment{"GRASPD_LOG_LEVEL": "debug"}
	if _, p, err := parse("serve", c.dataSettings(), nil, env); err != nil || p != nil || c.LogLevel.String() != "DEBUG" {
		t.Errorf("%v %v %v", c.LogLevel, p, err)
	}
	if _, p, err := parse("serve", c.dataSettings(), []string{"--log-level", "error"}, env); err != nil || p != nil || c.LogLevel.String() != "ERROR" {
		t.Errorf("%v %v %v", c.LogLevel, p, err)
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "17": 17, "1KiB": 1024, "64MiB": 64 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("%s: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1.5GiB", "1 GiB", "9999999999TiB", "1mb"} {
		if got, err := parseSize(in); err == nil {
			t.Errorf("%s: %d", in, got)
		}
	}
}

// TestImportThenExport carries events through a store by the rules: what is
// refused, forged, unreadable or known is counted and named.
func TestImportThenExport(t *testing.T) {
	dir := t.TempDir()
	now := time.Now().Unix()
	owner := testkit.Key(1)
	ann := testkit.Announcement(owner, now-100, "proj", "wss://relay.example.org")
	issue := testkit.Issue(testkit.Key(2), now-50, testkit.RepositoryAddress(owner, "proj"), "it breaks")
	comment := testkit.Comment(testkit.Key(2), now-40, issue, "it does")
	stranger := testkit.Sign(testkit.Key(3), now-30, nostr.KindNote, "hello")
	forged := bytes.Replace(issue.AppendJSON(nil), []byte("it breaks"), []byte("it brakes"), 1)
	lines := fmt.Sprintf("%s\n\n%s\n%s\n%s\n%s\nnot json\n%s\n", comment.AppendJSON(nil), issue.AppendJSON(nil), ann.AppendJSON(nil),
		ann.AppendJSON(nil), stranger.AppendJSON(nil), bytes.Replace(forged, []byte(issue.ID.String()), []byte(strings.Repeat("0", 64)), 1))
	args := []string{"--data", dir, "--domain", "relay.example.org", "--disk-floor", "1MiB"}

	code, out, errs := call(t, lines, nil, append([]string{"import"}, append(args, "-")...)...)
	if code != exitOK || !strings.Contains(out, "forged 1, unreadable 1") || !strings.Contains(errs, "line 7") {
		t.Fatalf("%d\n%s%s", code, out, errs)
	}
	code, out, errs = call(t, "", nil, "export", "--data", dir)
	if code != exitOK {
		t.Fatalf("%d %s", code, errs)
	}
	got := strings.Split(strings.TrimSpace(out), "\n")
	if len(got) != 3 {
		t.Fatalf("%d events:\n%s", len(got), out)
	}
	if !strings.Contains(got[0], ann.ID.String()) || !strings.Contains(got[1], issue.ID.String()) || !strings.Contains(got[2], comment.ID.String()) {
		t.Errorf("not in the order of storing:\n%s", out)
	}

	file := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ = call(t, "", nil, append([]string{"import"}, append(args, file)...)...); code != exitOK || !strings.Contains(out, "stored 0, known before 3") {
		t.Errorf("second import: %d %s", code, out)
	}
}

// TestAnExportedStoreIsImportedCompletely has more events wait for an
// announcement, which its replacement put behind them, than the door keeps.
// One is protected (NIP-70): whoever exported it had it from its author.
func TestAnExportedStoreIsImportedCompletely(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	owner, author := testkit.Key(1), testkit.Key(2)
	at := testkit.RepositoryAddress(owner, "proj")
	var lines bytes.Buffer
	const issues = 1500
	for i := range issues {
		e := testkit.Issue(author, now-int64(i), at, fmt.Sprint("issue ", i))
		if i == 7 {
			e = testkit.Sign(author, now, nip34.KindIssue, "protected", nostr.Tag{"a", at}, nostr.Tag{"-"})
		}
		lines.Write(append(e.AppendJSON(nil), '\n'))
	}
	lines.Write(append(testkit.Announcement(owner, now, "proj", "wss://relay.example.org").AppendJSON(nil), '\n'))
	dir := t.TempDir()
	code, out, errs := call(t, lines.String(), nil, "import", "--data", dir, "--domain", "relay.example.org", "--disk-floor", "0", "-")
	if want := fmt.Sprintf("stored %d, known before 0, refused by the rules 0,", issues+1); code != exitOK || !strings.Contains(out, want) {
		t.Fatalf("%d\n%s%s", code, out, errs)
	}
	if _, out, _ = call(t, "", nil, "export", "--data", dir); strings.Count(out, "\n") != issues+1 {
		t.Errorf("%d events were exported", strings.Count(out, "\n"))
	}
}

func TestImportAndExportNameWhatIsMissing(t *testing.T) {
	if code, _, errs := call(t, "", nil, "import", "--data", t.TempDir()); code != exitUsage || !strings.Contains(errs, "FILE") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, errs := call(t, "", nil, "import", "--data", t.TempDir(), "/nonexistent/x"); code != exitFail || !strings.Contains(errs, "/nonexistent/x") {
		t.Errorf("%d %s", code, errs)
	}
	dir := filepath.Join(t.TempDir(), "none")
	if code, _, errs := call(t, "", nil, "export", "--data", dir); code != exitFail || !strings.Contains(errs, dir) {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("export made a store")
	}
}

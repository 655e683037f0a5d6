package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestABackupAsATar: of a relay that runs and of one that does not; tar makes a directory of it that is checked, tells when it was cut,
// and is a data directory.
func TestABackupAsATar(t *testing.T) {
	tar, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("no tar")
	}
	data, before := filled(t, 20)
	stoppedTar := tarOf(t, "--data", data)
	us := serve(t, "--data", data, "--domain", "relay.example.org", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	runningTar := tarOf(t, "--data", data, "--admin", base)
	if left, err := filepath.Glob(filepath.Join(data, "backup-*")); err != nil || len(left) > 0 {
		t.Errorf("left in the data: %v %v", left, err)
	}
	for name, b := range map[string][]byte{"stopped": stoppedTar, "running": runningTar} {
		dir := t.TempDir()
		unpack := exec.CommandContext(t.Context(), tar, "-x", "-C", dir)
		unpack.Stdin = bytes.NewReader(b)
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", name, err, out)
		}
		if code, out, errs := checked(t, dir); code != exitOK || !strings.Contains(out, "the backup is whole") {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
		if exported(t, dir) != before {
			t.Errorf("%s: other events", name)
		}
		if err := os.Remove(filepath.Join(dir, "BACKUP.sha256")); err != nil {
			t.Fatal(err)
		}
		code, _, errs := checked(t, dir)
		if code != exitFail {
			t.Errorf("%s, cut: %d", name, code)
		}
		inOneLine(t, errs, "cut short", "--repair")
	}
}

func tarOf(t *testing.T, args ...string) []byte {
	t.Helper()
	code, out, errs := call(t, "", nil, append(append([]string{"backup"}, args...), "-")...)
	if code != exitOK {
		t.Fatal(code, errs)
	}
	return []byte(out)
}

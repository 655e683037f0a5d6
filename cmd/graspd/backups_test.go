package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestARelayMakesBackupsByItself: one is there soon after the first start, status tells of it, a second start makes no other, and tar makes
// a data directory of it that check finds whole and that is served.
func TestARelayMakesBackupsByItself(t *testing.T) {
	t.Parallel()
	tar, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("no tar")
	}
	data, dir := t.TempDir(), t.TempDir()
	args := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--sync=false", "--domain", "relay.example.org", "--data", data, "--backup-dir", dir}
	one := spawn(t, args...)
	url := one.out.await(t, `listens on (ws://\S+)\n`)
	base := one.out.await(t, `at (http://\S+)/status.json\n`)
	dial(t, grasp.RelayURL(url)).publish(testkit.Announcement(testkit.Key(1), time.Now().Unix(), "proj", "wss://relay.example.org"))
	one.errs.await(t, `(backup) .*file=graspd-[0-9a-f]{8}-\d{8}T\d{6}Z.tar`)
	if code, out, errs := call(t, "", nil, "status", "--admin", base); code != exitOK || !strings.Contains(out, "backups: 1 in "+dir) {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if err := one.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := one.wait(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("%q, %v", made, err)
	}
	b, err := os.ReadFile(made[0])
	if err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if err := os.Mkdir(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	unpack := exec.CommandContext(t.Context(), tar, "-x", "-C", restored)
	unpack.Stdin = bytes.NewReader(b)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if code, out, errs := checked(t, restored); code != exitOK || !strings.Contains(out, "the backup is whole") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	sameKey(t, data, restored)
	serve(t, "--data", restored, "--domain", "relay.example.org")
}

// TestBackupsIntoTheData are refused: they would be lost with it.
func TestBackupsIntoTheData(t *testing.T) {
	data := t.TempDir()
	for _, dir := range []string{data, filepath.Join(data, "backups")} {
		code, _, errs := call(t, "", nil, "serve", "--data", data, "--backup-dir", dir)
		if code != exitUsage {
			t.Errorf("%d", code)
		}
		inOneLine(t, errs, "--backup-dir", "in the data directory")
	}
}

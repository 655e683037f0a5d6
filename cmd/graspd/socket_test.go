package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThePrivateListenerAsASocket: only its user and group may use it, which proves that they may change something; commands find it, and
// a second relay does not take it away from the first.
func TestThePrivateListenerAsASocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "graspd") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "admin.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false) // as a kill leaves it
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	at, data := unixPrefix+path, t.TempDir()
	us := serve(t, "--data", data, "--sync=false", "--admin-listen", at)
	us.out.await(t, `(graspd status --admin unix:\S+)\n`)
	if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o660 {
		t.Errorf("%v, %v", info, err)
	}
	nowhere := map[string]string{"GRASPD_ADMIN_LISTEN": at, "GRASPD_DATA": t.TempDir()} // no key is there
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"0 events", []string{"status"}},
		{"case 1: author " + someHex, []string{"delete", "--author", someNpub, "--yes"}},
		{"accepts it again", []string{"restore", "--case", "1"}},
		{"author " + someHex, []string{"journal"}},
	} {
		if code, out, errs := call(t, "", nowhere, tc.args...); code != exitOK || !strings.Contains(out, tc.want) {
			t.Errorf("%v: %d %s%s", tc.args, code, out, errs)
		}
	}
	// A backup has the relay's secret key, so that only the key opens it.
	if code, _, errs := call(t, "", nowhere, "backup", "--data", data, filepath.Join(t.TempDir(), "copy")); code != exitOK {
		t.Errorf("backup: %d %s", code, errs)
	}
	nowhere["GRASPD_DATA"] = data
	if code, _, errs := call(t, "", nowhere, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"); code != exitFail || !strings.Contains(errs, "another process listens at "+path) {
		t.Errorf("a second relay: %d %s", code, errs)
	}
	if code := us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, "", nil, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", unixPrefix+file); code != exitFail || !strings.Contains(errs, "--admin-listen") {
		t.Errorf("in the place of a file: %d %s", code, errs)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("the file: %q, %v", b, err)
	}
}

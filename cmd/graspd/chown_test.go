package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestWhatRootRunsLeavesFilesToTheirOwner: import, export, check --repair, delete and restore by root, on the data of another user.
func TestWhatRootRunsLeavesFilesToTheirOwner(t *testing.T) {
	if os.Geteuid() != root {
		t.Skip("only root can give files away")
	}
	const user = 65534
	data := filepath.Join(t.TempDir(), "data")
	owned := func(when string) {
		t.Helper()
		files := 0
		err := filepath.WalkDir(data, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			files++
			if uid, gid, err := ownerOf(path); err != nil || uid != user || gid != user {
				t.Errorf("%s: %s is owned by %d:%d %v", when, path, uid, gid, err)
			}
			return nil
		})
		if err != nil || files < 3 {
			t.Errorf("%s: %d files, %v", when, files, err)
		}
	}
	if err := os.Mkdir(data, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, user, user); err != nil {
		t.Fatal(err)
	}
	event := testkit.Announcement(testkit.Key(1), time.Now().Unix()-100, "proj", "wss://relay.example.org")
	line := string(event.AppendJSON(nil)) + "\n"
	at := []string{"--data", data, "--domain", "relay.example.org", "--disk-floor", "1MiB"}
	if code, out, errs := call(t, line, nil, append(append([]string{"import"}, at...), "-")...); code != exitOK {
		t.Fatalf("import: %d %s%s", code, out, errs)
	}
	owned("import")
	if code, out, errs := call(t, "", nil, "export", "--data", data); code != exitOK || out != line {
		t.Errorf("export: %d %s%s", code, out, errs)
	}
	owned("export")
	if code, out, errs := call(t, "", nil, "check", "--repair", "--data", data); code != exitOK {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	owned("check --repair")

	// The relay itself is run by root here, as tests are: what it leaves is given back first, so that the commands alone are looked at.
	us := serve(t, append([]string{"--git=false", "--sync=false", "--admin-listen", "127.0.0.1:0"}, at...)...)
	admin := us.out.await(t, `at (http://\S+)/status.json\n`)
	author := nip19.Npub(testkit.Key(1).PubKey())
	for _, args := range [][]string{{"delete", "--author", author, "--yes"}, {"restore", "--case", "1"}} {
		before := owners(t, data)
		if code, out, errs := call(t, "", nil, append(args, "--admin", admin, "--data", data)...); code != exitOK {
			t.Errorf("%v: %d %s%s", args, code, out, errs)
		}
		for path, uid := range owners(t, data) {
			if was, there := before[path]; there && was != uid {
				t.Errorf("%s: %s was owned by %d, and is by %d", args[0], path, was, uid)
			}
		}
	}
}

// owners are the users who own what is in a directory, by path.
func owners(t *testing.T, dir string) map[string]int {
	t.Helper()
	out := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil // a file of the running store that has gone
		}
		uid, _, err := ownerOf(path)
		if err == nil {
			out[path] = uid
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

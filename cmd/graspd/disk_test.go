//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// ownDisks marks a run of this test binary that may mount disks of its own.
const ownDisks = "TEST_DISKS_OF_GRASPD"

// withDisks runs the test that calls it in a process of its own that may mount disks, where the system allows that to
// everybody. It reports whether this is that process.
func withDisks(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownDisks) != "" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), ownDisks+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "--- SKIP"), len(out) == 0:
		t.Skipf("no disks of one's own: %v %s", err, out)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// mount makes a small disk.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func serveChild(t *testing.T, data string, args ...string) *child {
	t.Helper()
	return spawn(t, append([]string{"serve", "--data", data, "--domain", "relay.example.org", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--sync=false", "--store-cache", "1MiB"}, args...)...)
}

func address(t *testing.T, c *child) grasp.RelayURL {
	t.Helper()
	u, err := grasp.NormalizeRelay(c.out.await(t, `listens on (ws://\S+)\n`))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// fillUp publishes until the relay refuses, and returns what was acknowledged and the refusal.
func fillUp(t *testing.T, u grasp.RelayURL) (acked []*nostr.Event, refusal string) {
	t.Helper()
	c := dial(t, u)
	now := time.Now().Unix()
	ann := testkit.Announcement(testkit.Key(1), now, "proj", "wss://relay.example.org")
	c.publish(ann)
	acked = append(acked, ann)
	noise := strings.Repeat("0123456789abcdef", 3000)
	for i := range 1000 {
		e := testkit.Issue(testkit.Key(2), now, testkit.RepositoryAddress(testkit.Key(1), "proj"), fmt.Sprint(i, noise[i:]))
		c.send(nostr.AppendEventMsg(nil, e))
		ok, is := c.next().(nostr.OK)
		if !is || ok.ID != e.ID {
			t.Fatalf("%+v", ok)
		}
		if !ok.OK {
			return acked, ok.Reason
		}
		acked = append(acked, e)
	}
	t.Fatal("the disk does not fill up")
	return nil, ""
}

func requireAll(t *testing.T, data string, acked []*nostr.Event) {
	t.Helper()
	code, out, errs := checked(t, data)
	if code != exitOK {
		t.Errorf("check: %d\n%s%s", code, out, errs)
	}
	text := exported(t, data)
	for i, e := range acked {
		if !strings.Contains(text, e.ID.String()) {
			t.Errorf("event %d of %d is gone", i, len(acked))
		}
	}
}

// TestDiskFull: with a floor the relay refuses in time and goes on; without one the disk fails, nothing is acknowledged
// from then on, the operator is told, and when there is room everything that was acknowledged is there.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if !withDisks(t) {
		return
	}
	for floor, x := range map[string]struct{ size, want string }{"24MiB": {"80m", "error: storage full"}, "0": {"50m", "error: "}} {
		data := filepath.Join(mount(t, x.size), "data")
		c := serveChild(t, data, "--disk-floor", floor)
		u := address(t, c)
		acked, refusal := fillUp(t, u)
		if !strings.HasPrefix(refusal, x.want) {
			t.Errorf("floor %s: refused with %q", floor, refusal)
		}
		reader := dial(t, u)
		reader.send(nostr.AppendReq(nil, "s", nostr.Filter{IDs: []nostr.ID{acked[0].ID}}))
		reader.awaitEvent(acked[0])
		if len(acked) < 8 {
			t.Errorf("floor %s: full after %d events", floor, len(acked))
		}
		code, out, _ := call(t, "", nil, "status", "--admin", c.out.await(t, `at (http://\S+)/status.json\n`))
		if code != exitFail {
			t.Errorf("floor %s: status: %d %s", floor, code, out)
		}
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		c.wait(t)
		if text := c.errs.String(); strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") {
			t.Errorf("floor %s:\n%s", floor, text)
		}
		requireAll(t, data, acked)
		if floor == "0" {
			code, _, errs := call(t, "", nil, "check", "--repair", "--data", data, "--disk-floor", "0")
			if code != exitUsage {
				t.Errorf("repair without room: %d %s", code, errs)
			}
			inOneLine(t, errs, "make room")
			requireAll(t, data, acked)
		}
		if err := syscall.Mount("", filepath.Dir(data), "tmpfs", syscall.MS_REMOUNT, "size=128m"); err != nil {
			t.Fatal(err)
		}
		again := serveChild(t, data, "--disk-floor", "1MiB")
		dial(t, address(t, again)).publish(testkit.Issue(testkit.Key(2), time.Now().Unix(), testkit.RepositoryAddress(testkit.Key(1), "proj"), "room"))
		again.kill()
		requireAll(t, data, acked)
	}
}

// TestReadOnlyDisk: the relay says so and does not start; what only reads works.
// TestNoInodes: files that take all inodes of the disk end the storing before they are gone, and not the serving; when they go it
// goes on.
func TestNoInodes(t *testing.T) {
	if !withDisks(t) {
		return
	}
	disk := mount(t, "80m,nr_inodes=1000") // of which 50 stay free
	serving := serveChild(t, filepath.Join(disk, "data"), "--disk-floor", "1MiB")
	u := address(t, serving)
	c := dial(t, u)
	at := serving.out.await(t, `at (http://\S+)/status.json\n`)
	now := time.Now().Unix()
	ann := testkit.Announcement(testkit.Key(1), now, "proj", "wss://relay.example.org")
	c.publish(ann)
	left, err := store.SpaceIn(disk)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(disk, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range left.Inodes.Free - 49 {
		if err := os.WriteFile(filepath.Join(other, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := testkit.Issue(testkit.Key(2), now, testkit.RepositoryAddress(testkit.Key(1), "proj"), "no inode")
	c.send(nostr.AppendEventMsg(nil, refused))
	if ok, is := c.next().(nostr.OK); !is || ok.OK || !strings.HasPrefix(ok.Reason, "error: storage full") {
		t.Errorf("%+v", ok)
	}
	code, out, errs := call(t, "", nil, "status", "--admin", at)
	if code != exitFail || !strings.Contains(errs, "no free inodes left") || !strings.Contains(out, " free on the disk, 4") {
		t.Errorf("status: %d %s%s", code, out, errs)
	}
	reader := dial(t, u)
	reader.send(nostr.AppendReq(nil, "s", nostr.Filter{IDs: []nostr.ID{ann.ID}}))
	reader.awaitEvent(ann)
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	c.publish(refused)
	if code, out, errs := call(t, "", nil, "status", "--admin", at); code != exitOK {
		t.Errorf("status: %d %s%s", code, out, errs)
	}
}

// TestGitDataOnAnotherDisk: where the git data lies on a disk of its own, and that one is full, events are stored and no push is taken.
func TestGitDataOnAnotherDisk(t *testing.T) {
	t.Parallel()
	if !withDisks(t) {
		return
	}
	data, disk := filepath.Join(mount(t, "80m"), "data"), mount(t, "80m")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(disk, filepath.Join(data, "git")); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 70<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	us := spawn(t, "serve", "--git", "--data", data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--sync=false", "--store-cache", "1MiB", "--disk-floor", "24MiB")
	u := address(t, us)
	service, err := grasp.ParseService(strings.TrimPrefix(string(u), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	owner, now := testkit.Key(1), time.Now().Unix()
	url := service.CloneURL(owner.PubKey(), "tool")
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	c := dial(t, u)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", url}, nostr.Tag{"relays", string(u)}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}))
	if out, err := gitIn(t, dir, "push", url, "main"); err == nil || !strings.Contains(out, "the storage of this server is full") {
		t.Errorf("%v: %s", err, out)
	}
	at := us.out.await(t, `at (http://\S+)/status.json\n`)
	if code, out, errs := call(t, "", nil, "status", "--admin", at); code != exitFail || !strings.Contains(errs, "graspd takes no push") {
		t.Errorf("status: %d %s%s", code, out, errs)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "push", url, "main")
	if code, out, errs := call(t, "", nil, "status", "--admin", at); code != exitOK || !strings.Contains(out, " of the git data\n") {
		t.Errorf("status: %d %s%s", code, out, errs)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	if !withDisks(t) {
		return
	}
	disk := mount(t, "64m")
	data := filepath.Join(disk, "data")
	first, before := filled(t, 5)
	if err := os.Rename(first, data); err != nil {
		if out, err := exec.Command("cp", "-r", first, data).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	if err := syscall.Mount("", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=64m"); err != nil {
		t.Fatal(err)
	}
	c := serveChild(t, data)
	if code := c.wait(t); code != exitFail {
		t.Errorf("serve: exit code %d", code)
	}
	inOneLine(t, c.errs.String(), data, "read-only", "mount it for writing")
	if code, _, errs := checked(t, data); code != exitOK || exported(t, data) != before {
		t.Errorf("check: %d %s", code, errs)
	}
	if code, _, errs := checked(t, data, "--repair"); code != exitUsage {
		t.Errorf("repair: %d %s", code, errs)
	} else {
		inOneLine(t, errs, "read-only")
	}
	dir := filepath.Join(t.TempDir(), "copy")
	if code, _, errs := call(t, "", nil, "backup", "--data", data, dir); code != exitOK {
		t.Errorf("backup: %d %s", code, errs)
	}
	if code, _, errs := checked(t, dir); code != exitOK || exported(t, dir) != before {
		t.Errorf("the copy: %d %s", code, errs)
	}
}

// TestNoPermission: a data directory of somebody else is an error of one line, and stays as it is.
func TestNoPermission(t *testing.T) {
	data, before := filled(t, 3)
	run := func(args ...string) *child { return spawn(t, args...) }
	if os.Geteuid() == 0 {
		run = func(args ...string) *child { return spawnAs(t, 65534, args...) }
		if err := os.Chmod(filepath.Dir(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []os.FileMode{0o500, 0} {
		if err := os.Chmod(filepath.Join(data, "store"), mode); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			code int
			args []string
		}{
			{exitFail, []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--data", data}},
			{exitUsage, []string{"check", "--data", data}},
			{exitUsage, []string{"check", "--repair", "--data", data}},
			{exitFail, []string{"export", "--data", data}},
		} {
			c1 := run(c.args...)
			if code := c1.wait(t); code != c.code && !(mode == 0o500 && os.Geteuid() != 0 && code == exitOK) { // its owner may read
				t.Errorf("%v with mode %v: exit code %d", c.args, mode, code)
			} else if code != exitOK {
				inOneLine(t, c1.errs.String(), data, "permission denied", "must be allowed")
			}
		}
	}
	if err := os.Chmod(filepath.Join(data, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	if exported(t, data) != before {
		t.Error("it is not what it was")
	}
}

// spawnAs is spawn as another user, who may not look into where this test binary is.
func spawnAs(t *testing.T, uid uint32, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(dir, "graspd")
	if err := os.WriteFile(public, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return spawnThis(t, exec.Command(public, args...), &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}})
}

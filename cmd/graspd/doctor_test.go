package main

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/doctor"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// TestTheDoctorLooksAtARelay that runs here, whose only fault is that it is nowhere else; its test announcement leaves nothing.
func TestTheDoctorLooksAtARelay(t *testing.T) {
	t.Parallel()
	us := serve(t, "--git", "--data", t.TempDir(), "--sync=false")
	host := strings.TrimPrefix(string(us.url), "ws://")
	code, out, errs := call(t, "", nil, "doctor", "--git", "--domain", host, "--data", t.TempDir(), "--disk-floor", "0", "http://"+host)
	if code != exitOK {
		t.Errorf("%d %s", code, errs)
	}
	for _, want := range []string{"this machine:\n  ok    disk", "  ok    git program", "  ok    relay         \"", "  ok    domain", "  warn  address       the relay takes this client for 127.0.0.1",
		"  ok    websocket", "  ok    git  ", "  ok    pushes", "  ok    announcement  a test announcement was taken, and withdrawn\n", "  warn  certificate"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	code, out, errs = call(t, "", nil, "doctor", "--git", "--domain", "git.example.org", "--data", t.TempDir(), "--disk-floor", "0", "--publish=false", "ws://"+host)
	if code != exitFail || !strings.Contains(out, "  FAIL  domain") || !strings.Contains(out, "--domain "+host) || strings.Contains(out, "announcement  ") || !strings.Contains(errs, "mended") {
		t.Errorf("another domain: %d %s%s", code, out, errs)
	}
	us.stop()
	if code, out, _ = call(t, "", nil, "doctor", "--data", t.TempDir(), "--disk-floor", "0", "http://"+host); code != exitFail || !strings.Contains(out, "  FAIL  connection") {
		t.Errorf("stopped: %d %s", code, out)
	}
	for _, args := range [][]string{{"doctor"}, {"doctor", "a", "b"}, {"doctor", "ftp://x"}, {"doctor", "--domain", "a b"}} {
		if code, _, errs := call(t, "", nil, args...); code != exitUsage || errs == "" {
			t.Errorf("%q: %d %s", args, code, errs)
		}
	}
}

// TestCheckOnlyWarns: what serve finds of itself stands in the log, and nothing else comes of it.
func TestCheckOnlyWarns(t *testing.T) {
	us := serve(t, "--git", "--data", t.TempDir(), "--sync=false")
	defer us.stop()
	service, err := grasp.ParseService(strings.TrimPrefix(string(us.url), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c := &Config{Data: t.TempDir(), HostsGit: true, DiskFloor: 1 << 62}
	soon := make(chan time.Time, 1)
	soon <- time.Now()
	checkOnce(t.Context(), c, thisWorld(), service, soon, slog.New(slog.NewTextHandler(&log, nil)))
	for _, want := range []string{"level=WARN", "what=disk", "what=address", "mend=", "component=check"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "announcement") || strings.Contains(log.String(), "level=INFO") {
		t.Errorf("%s", log.String())
	}
}

func TestDisksAreLookedAt(t *testing.T) {
	const floor = 1 << 30
	for _, c := range []struct {
		disk         store.Space
		free, inodes doctor.Level
	}{
		{store.Space{Free: 10 * floor, Inodes: store.Inodes{Free: 1_000_000, All: 2_000_000}}, doctor.Fine, doctor.Fine},
		{store.Space{Free: floor * 3 / 2, Inodes: store.Inodes{Free: 1_000_000, All: 2_000_000}}, doctor.Warning, doctor.Fine},
		{store.Space{Free: floor, Inodes: store.Inodes{Free: 1_000_000, All: 2_000_000}}, doctor.Fault, doctor.Fine},
		{store.Space{Free: 10 * floor, Inodes: store.Inodes{Free: 50_000, All: 2_000_000}}, doctor.Fine, doctor.Warning},
		{store.Space{Free: 10 * floor, Inodes: store.Inodes{Free: 10_000, All: 2_000_000}}, doctor.Fine, doctor.Warning},
		{store.Space{Free: 10 * floor, Inodes: store.Inodes{Free: 9_999, All: 2_000_000}}, doctor.Fine, doctor.Fault},
		{store.Space{Free: 10 * floor, Inodes: store.Inodes{Free: 40_000, All: 65_536}}, doctor.Fine, doctor.Fine},
		{store.Space{Free: 10 * floor, Inodes: store.Inodes{Free: 5_000, All: 65_536}}, doctor.Fine, doctor.Warning},
		{store.Space{Free: 10 * floor, Inodes: store.Inodes{Free: 3_000, All: 65_536}}, doctor.Fine, doctor.Fault},
		{store.Space{Free: 10 * floor}, doctor.Fine, doctor.Fine}, // btrfs has no number of inodes
	} {
		var asked []string
		got := examineDisk("/data/graspd", floor, func(dir string) (store.Space, error) {
			if asked = append(asked, dir); dir != "/" {
				return store.Space{}, fs.ErrNotExist
			}
			return c.disk, nil
		})
		if len(got) != 2 || got[0].Level != c.free || got[1].Level != c.inodes {
			t.Errorf("%+v: %+v", c.disk, got)
		}
		for _, f := range got {
			if f.Level > doctor.Skipped && f.Mend == "" {
				t.Errorf("%+v says not what to do", f)
			}
		}
		if strings.Join(asked, " ") != "/data/graspd /data /" {
			t.Errorf("looked at %s", asked)
		}
	}
	for _, git := range []bool{true, false} {
		for _, same := range []bool{true, false} {
			got := examineDisks(&Config{Data: "/data", DiskFloor: floor, HostsGit: git}, func(dir string) (store.Space, error) {
				if dir == "/data/git" {
					return store.Space{Free: floor, Inodes: store.Inodes{Free: 9, All: 2_000_000}}, nil
				}
				return store.Space{Free: 10 * floor, Inodes: store.Inodes{Free: 1_000_000, All: 2_000_000}}, nil
			}, func(a, b string) bool { return same })
			if !git || same {
				if len(got) != 2 {
					t.Errorf("%v, %v: %+v", git, same, got)
				}
				continue
			}
			if len(got) != 4 || got[2].What != "git disk" || got[2].Level != doctor.Fault || !strings.Contains(got[2].Mend, "graspd takes no push") || got[3].What != "git inodes" || got[3].Level != doctor.Fault {
				t.Errorf("%+v", got)
			}
		}
	}
	low := func(string) (store.Space, error) {
		return store.Space{Free: floor, Inodes: store.Inodes{Free: 1, All: 2_000_000}}, nil
	}
	if got := examineDisk("/data", 0, low); len(got) != 2 || got[1].Level != doctor.Warning { // the operator wants no floor
		t.Errorf("%+v", got)
	}
	if got := examineDisk("/data", floor, func(string) (store.Space, error) { return store.Space{}, errors.New("input/output error") }); len(got) != 1 || got[0].Level != doctor.Skipped {
		t.Errorf("%+v", got)
	}
	if f := examineFiles(1024); f.Level != doctor.Warning || !strings.Contains(f.Mend, "LimitNOFILE") {
		t.Errorf("%+v", f)
	}
	if f := examineFiles(1 << 20); f.Level != doctor.Fine {
		t.Errorf("%+v", f)
	}
	if f := examineGit(t.Context(), "/nonexistent/git"); f.Level != doctor.Fault || f.Mend == "" {
		t.Errorf("%+v", f)
	}
}

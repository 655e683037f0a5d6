package gitrepo_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Whoever admits the first pack of a repository that is prepared waits for the disk as long as for any other pack.
func TestAPreparedRepositoryIsThere(t *testing.T) {
	c := newClone(t)
	tip := c.commit("main", 1, gitwire.ObjectID{})
	d, dir := disk(t)
	q := begin(t, d, some(1))
	receive(t, q, c.pack("main"))
	if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{tip}}); err != nil {
		t.Fatal(err)
	}
	var durable []string
	d.BeforeSync(func(name string) { durable = append(durable, strings.TrimPrefix(name, "ab/cd/"+some(1).String())) })
	unneeded, err := d.Prepare(some(1))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(durable, " "); got != " /objects ab/cd ab ." {
		t.Errorf("durable: %q", got)
	}
	durable = nil
	if err := d.Admit(q, some(1)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(durable, " "); got != "/objects/pack/" {
		t.Errorf("durable by the turn: %q", got)
	}
	complete(t, d, dir, c.all("main"))
	if missing, err := d.Missing(some(1), ids{tip}); err != nil || len(missing) > 0 {
		t.Error(missing, err)
	}
	if err := unneeded(); err != nil { // what was admitted goes as well
		t.Fatal(err)
	}
	if missing, err := d.Missing(some(1), ids{tip}); err != nil || len(missing) != 1 {
		t.Error(missing, err)
	}
}

func TestAPreparedRepositoryThatNobodyNeeds(t *testing.T) {
	d, dir := disk(t)
	unneeded, err := d.Prepare(some(1))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is there
		if err := unneeded(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(pathOf(dir, some(1))); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}

// What a kill leaves of a repository under preparation is swept out when it is a day old.
func TestAKillWhileARepositoryIsPrepared(t *testing.T) {
	later := &clock{time.Now().Add(25 * time.Hour)}
	left := 0
	for n, ended := 0, true; ended; n++ {
		d, dir := disk(t)
		ended = until(t, d, n, func() error { _, err := d.Prepare(some(1)); return err })
		if _, err := os.Stat(pathOf(dir, some(1))); err == nil {
			left++
		}
		d = openDisk(t, gitrepo.Config{Dir: dir, Now: later.now})
		if err := d.Sweep(t.Context(), func(gitrepo.ID) bool { return false }); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(pathOf(dir, some(1))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("killed at change %d of a file: %v", n, err)
		}
	}
	if left < 3 {
		t.Errorf("%d kills left something", left)
	}
}

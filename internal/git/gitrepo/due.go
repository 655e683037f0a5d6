package gitrepo

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// drops says when git last dropped what refs of a repository had not led to for long enough, and when it tries that next. Times are in seconds
// since 1970.
type drops struct {
	last, next int64
	rest       int64 // seconds from the last try to the next one; 0 where the last one did it
}

// A try at what git cannot do within its bounds costs much each time.
const (
	firstRest = 24 * 60 * 60              // seconds after a try that failed; twice as long after each one more
	period    = int64(kept / time.Second) // after one that did it, and the longest rest
)

// dropsFile holds drops. It is not made durable, nor written at once: the two weeks of who cannot read it begin anew.
func dropsFile(repo ID) string { return repo.path() + "/combined" }

func (d *Disk) readDrops(repo ID) (x drops, ok bool, err error) {
	text, err := d.dir.root.ReadFile(dropsFile(repo))
	if errors.Is(err, fs.ErrNotExist) {
		return x, false, nil
	}
	_, wrong := fmt.Sscan(string(text), &x.last, &x.next, &x.rest)
	now := d.now().Unix()
	return x, wrong == nil && x.last <= now && x.next <= now+period, err // a clock that was ahead is not believed
}

func (d *Disk) writeDrops(repo ID, x drops) error {
	d.dir.changes()
	return noted(d.dir.root.WriteFile(dropsFile(repo), fmt.Appendln(nil, x.last, x.next, x.rest), 0o600))
}

// watch begins the two weeks of a repository that has refs.
func (d *Disk) watch(repo ID) error {
	if _, ok, err := d.readDrops(repo); ok || err != nil {
		return err
	}
	_, err := d.dir.root.Stat(repo.path() + "/packed-refs")
	if err == nil {
		err = d.dropped(repo)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// due reports whether the packs of a repository have to be combined for its refs alone: something that these led to may have to go. That is
// so every two weeks, until the refs have not moved for as long before the last time.
func (d *Disk) due(repo ID) (bool, error) {
	x, ok, err := d.readDrops(repo)
	if err != nil || !ok || d.now().Unix() < x.next {
		return false, err
	}
	moved, err := d.dir.root.Stat(repo.path() + "/packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && moved.ModTime().Unix() > x.last-period, err
}

// tried notes a try before it begins, however it ends.
func (d *Disk) tried(repo ID) error {
	x, _, err := d.readDrops(repo)
	if err != nil {
		return err
	}
	x.rest = min(max(firstRest, 2*x.rest), period)
	x.next = d.now().Unix() + x.rest
	return d.writeDrops(repo, x)
}

// dropped begins two weeks anew.
func (d *Disk) dropped(repo ID) error {
	now := d.now().Unix()
	return d.writeDrops(repo, drops{last: now, next: now + period})
}

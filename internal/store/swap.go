package store

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A repair writes a second store beside the first and puts it into its place by renaming, in an order in which an end
// at any moment leaves one that opens: under its first name the new one is not complete; under the second it is; then
// the old one moves away, kept until the operator removes it; then the new one takes its place. Where a crash came
// before this last step, finishSwap takes it.
const (
	suffixBuilding = ".repair"   // may be left by a crash; the next repair removes it
	suffixComplete = ".repaired" // whole, checked and durable
	suffixSalvage  = ".salvage"  // what a repair gathers from a store that the engine cannot read
	suffixBroken   = ".broken-"  // and the time
)

// swapIn puts the complete new store in the place of dir and says where the old one is.
func swapIn(fsys vfs.FS, dir string, now time.Time) (old string, err error) {
	old, err = brokenName(fsys, dir, now)
	if err != nil {
		return "", err
	}
	for _, step := range [][2]string{{dir + suffixBuilding, dir + suffixComplete}, {dir, old}, {dir + suffixComplete, dir}} {
		if err := fsys.Rename(step[0], step[1]); err != nil {
			return "", fmt.Errorf("put the repaired store in its place: %w", err)
		}
		if err := syncParent(fsys, dir); err != nil {
			return "", fmt.Errorf("put the repaired store in its place: %w", err)
		}
	}
	return old, nil
}

// brokenName is a name for the old store that is not taken.
func brokenName(fsys vfs.FS, dir string, now time.Time) (string, error) {
	base := dir + suffixBroken + now.UTC().Format("20060102T150405Z")
	name := base
	for i := 2; ; i++ {
		there, err := exists(fsys, name)
		if err != nil || !there {
			return name, err
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// finishSwap takes the last step of a repair that was interrupted before it.
func finishSwap(fsys vfs.FS, dir string) error {
	there, err := exists(fsys, dir)
	if err != nil || there {
		return err
	}
	complete, err := exists(fsys, dir+suffixComplete)
	if err != nil || !complete {
		return err
	}
	if err := fsys.Rename(dir+suffixComplete, dir); err != nil {
		return fmt.Errorf("finish a repair: %w", err)
	}
	return syncParent(fsys, dir)
}

// abandonSwap removes the new store of a swap that failed, unless the old one has moved away already: then the new one
// is what finishSwap puts into its place.
func abandonSwap(fsys vfs.FS, dir string) error {
	there, err := exists(fsys, dir)
	if err != nil || !there {
		return err
	}
	for _, suffix := range []string{suffixBuilding, suffixComplete} {
		if err := fsys.RemoveAll(dir + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func syncParent(fsys vfs.FS, path string) error {
	d, err := fsys.OpenDir(fsys.PathDir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func exists(fsys vfs.FS, path string) (bool, error) {
	_, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

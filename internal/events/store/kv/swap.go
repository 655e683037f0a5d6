package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A repair writes a second store beside the first, and puts it into the place of the first by renaming. A crash at any moment leaves a store
// that opens. Under its first name the new store is not complete; under the second it is. Then the old one moves away, and stays until the
// operator removes it. Then the new one takes its place. Where a crash came before this last step, FinishSwap takes it.
const (
	SuffixBuilding = ".repair"   // a crash may leave it; the next repair removes it
	SuffixComplete = ".repaired" // complete, checked and durable
	SuffixSalvage  = ".salvage"  // has what a repair gathers from a store that the engine cannot read
	suffixBroken   = ".broken-"  // the old store; the time follows
)

// SwapIn puts the complete new store into the place of dir, and returns where the old one is.
func SwapIn(fsys vfs.FS, dir string, now time.Time) (old string, err error) {
	old, err = brokenName(fsys, dir, now)
	if err != nil {
		return "", err
	}
	for _, step := range [][2]string{{dir + SuffixBuilding, dir + SuffixComplete}, {dir, old}, {dir + SuffixComplete, dir}} {
		if err := fsys.Rename(step[0], step[1]); err != nil {
			return "", fmt.Errorf("put the repaired store in its place: %w", err)
		}
		if err := SyncParent(fsys, dir); err != nil {
			return "", fmt.Errorf("put the repaired store in its place: %w", err)
		}
	}
	return old, nil
}

// brokenName returns a free name for the old store.
func brokenName(fsys vfs.FS, dir string, now time.Time) (string, error) {
	base := dir + suffixBroken + now.UTC().Format("20060102T150405Z")
	name := base
	for i := 2; ; i++ {
		there, err := Exists(fsys, name)
		if err != nil || !there {
			return name, err
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// FinishSwap takes the last step of a repair that was interrupted before it.
func FinishSwap(fsys vfs.FS, dir string) error {
	there, err := Exists(fsys, dir)
	if err != nil || there {
		return err
	}
	complete, err := Exists(fsys, dir+SuffixComplete)
	if err != nil || !complete {
		return err
	}
	if err := fsys.Rename(dir+SuffixComplete, dir); err != nil {
		return fmt.Errorf("finish a repair: %w", err)
	}
	return SyncParent(fsys, dir)
}

// AbandonSwap removes the new store of a swap that failed, unless the old one has moved away already. Then FinishSwap puts the new one into its
// place.
func AbandonSwap(fsys vfs.FS, dir string) error {
	there, err := Exists(fsys, dir)
	if err != nil || !there {
		return err
	}
	for _, suffix := range []string{SuffixBuilding, SuffixComplete} {
		if err := fsys.RemoveAll(dir + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// SyncParent makes the entries of the directory around a path durable.
func SyncParent(fsys vfs.FS, path string) error {
	d, err := fsys.OpenDir(fsys.PathDir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Exists reports whether a path exists.
func Exists(fsys vfs.FS, path string) (bool, error) {
	_, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

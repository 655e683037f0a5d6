package store

import (
	"fmt"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk says what the file system of the store has left, and which floors stay free. At a floor the store writes nothing.
type Disk struct {
	Free, Floor uint64 // bytes
	Inodes      Inodes
	InodeFloor  uint64 // 0 where there is no bound
}

// Inodes are what files are made of: how many are free, of how many. All is 0 on a file system that makes inodes as it needs them (btrfs);
// then there is no bound.
type Inodes struct{ Free, All uint64 }

// DefaultInodeFloor is how many inodes stay free unless Options say otherwise.
const DefaultInodeFloor = 10_000

// inodeFraction bounds the floor on a small file system: at most this part of its inodes stays free.
const inodeFraction = 20

// Floor returns how many inodes stay free: most of them, or a twentieth of all where that is less.
func (i Inodes) Floor(most uint64) uint64 {
	return min(most, i.All/inodeFraction)
}

// Full reports whether fewer than the floor are free, or none.
func (i Inodes) Full(most uint64) bool { return i.All > 0 && i.Free < max(1, i.Floor(most)) }

// Space is what a file system has left.
type Space struct {
	Free   uint64 // bytes that this user may use
	Inodes Inodes
}

// SpaceIn asks the file system of a directory what it has left. Where there is no such directory the error is fs.ErrNotExist.
func SpaceIn(dir string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Space{}, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return Space{Free: s.Bavail * uint64(s.Bsize), Inodes: Inodes{Free: s.Ffree, All: s.Files}}, nil
}

// diskSpace asks the file system; one that cannot tell has no end.
func diskSpace(fsys vfs.FS, dir string) func() (uint64, error) {
	if fsys == vfs.Default {
		return func() (uint64, error) {
			s, err := SpaceIn(dir)
			return s.Free, err
		}
	}
	return func() (uint64, error) {
		usage, err := fsys.GetDiskUsage(dir)
		if err == vfs.ErrUnsupported {
			return 1 << 62, nil
		}
		return usage.AvailBytes, err
	}
}

// diskInodes asks the file system of the disk. A file system in memory has no inodes.
func diskInodes(fsys vfs.FS, dir string) func() (Inodes, error) {
	if fsys != vfs.Default {
		return func() (Inodes, error) { return Inodes{}, nil }
	}
	return func() (Inodes, error) {
		s, err := SpaceIn(dir)
		return s.Inodes, err
	}
}

// Disk says what the file system of the store has left.
func (s *Store) Disk() (Disk, error) {
	free, err := s.opt.FreeSpace()
	if err != nil {
		return Disk{}, fmt.Errorf("free disk space: %w", err)
	}
	inodes, err := s.opt.FreeInodes()
	if err != nil {
		return Disk{}, err
	}
	return Disk{Free: free, Floor: s.opt.Floor, Inodes: inodes, InodeFloor: inodes.Floor(s.opt.InodeFloor)}, nil
}

// DiskIn says what the file system of another directory has left, with the same floors. DiskIn returns nil where that is also the file
// system of the directory beside, and where it cannot tell.
func (s *Store) DiskIn(dir, beside string) *Disk {
	here, there := fileSystem(beside), fileSystem(dir)
	if here == nil || there == nil || *here == *there {
		return nil
	}
	x, err := SpaceIn(dir)
	if err != nil {
		return nil
	}
	return &Disk{Free: x.Free, Floor: s.opt.Floor, Inodes: x.Inodes, InodeFloor: x.Inodes.Floor(s.opt.InodeFloor)}
}

// fileSystem is the number of a directory's file system, or nil where it is not known.
func fileSystem(dir string) *uint64 {
	var s syscall.Stat_t
	if syscall.Stat(dir, &s) != nil {
		return nil
	}
	return new(uint64(s.Dev))
}

// RoomIn returns what Room would for another directory, which may be on another file system.
func (s *Store) RoomIn(dir string) error {
	return s.enough(diskSpace(vfs.Default, dir), diskInodes(vfs.Default, dir), 0)
}

// Room returns ErrFull while the free disk is at its floor and the store writes nothing, or ErrNoInodes, which is an ErrFull, where inodes
// are short. Room returns another error where the disk does not tell, and else nil.
func (s *Store) Room() error { return s.roomFor(0) }

// roomFor reports ErrFull where writing n bytes more would pass the floor.
func (s *Store) roomFor(n int) error { return s.enough(s.opt.FreeSpace, s.opt.FreeInodes, n) }

func (s *Store) enough(space func() (uint64, error), of func() (Inodes, error), n int) error {
	free, err := space()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownRoom, err)
	}
	if free < s.opt.Floor+uint64(n) {
		return ErrFull
	}
	inodes, err := of()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownRoom, err)
	}
	if inodes.Full(s.opt.InodeFloor) {
		err = ErrNoInodes
	}
	return err
}

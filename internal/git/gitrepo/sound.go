package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"io"
)

// soundPack reports whether a pack and its index have the right checksums, and belong together.
func (d *directory) soundPack(ctx context.Context, name string) (bool, error) {
	there, err := d.isFile(name + ".pack")
	if err != nil || !there {
		return false, err
	}
	whole, pack, err := d.sound(ctx, name+".pack")
	if err != nil || !whole {
		return false, err
	}
	whole, index, err := d.sound(ctx, name+".idx")
	if err != nil || !whole {
		return false, err
	}
	return bytes.Equal(pack[len(sum{}):], index[:len(sum{})]), nil
}

// sound reports whether a file ends with the checksum of the bytes before it, as each file of a pack does, and returns its last bytes.
func (d *directory) sound(ctx context.Context, name string) (ok bool, tail [indexTail]byte, err error) {
	f, err := d.root.Open(name)
	if err != nil {
		return false, tail, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() < indexTail {
		return false, tail, err
	}
	if _, err := f.ReadAt(tail[:], info.Size()-indexTail); err != nil {
		return false, tail, err
	}
	h := sha1.New()
	for left := info.Size() - sumLen; left > 0; {
		n, err := io.CopyN(h, f, min(left, 64<<20))
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return false, tail, err
		}
		left -= n
	}
	return bytes.Equal(h.Sum(nil), tail[sumLen:]), tail, nil
}

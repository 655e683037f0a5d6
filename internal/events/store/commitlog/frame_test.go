package commitlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// TestFrames: a stream of frames is read as it was written, whole frames alone, and what no node sends is damaged.
func TestFrames(t *testing.T) {
	x := commitlog.NewEntry(7, commitlog.Chain{1}, []byte("what it changes"))
	empty := commitlog.NewEntry(9, commitlog.Chain{2}, nil)
	empty.Body = []byte{}
	want := []commitlog.Frame{{Term: 3, Head: 6}, {Term: 3, Head: 9, Entry: &x}, {Term: 1 << 40, Head: 1 << 50, Entry: &empty}, {}}
	var stream []byte
	for _, f := range want {
		stream = f.Append(stream)
	}
	r := bytes.NewReader(stream)
	for i, w := range want {
		if f, err := commitlog.ReadFrame(r); err != nil || !reflect.DeepEqual(f, w) {
			t.Errorf("frame %d: %+v, %v", i, f, err)
		}
	}
	if _, err := commitlog.ReadFrame(r); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	one := want[1].Append(nil)
	for n := 1; n < len(one); n++ {
		if _, err := commitlog.ReadFrame(bytes.NewReader(one[:n])); err == nil {
			t.Errorf("a frame of %d bytes of %d is read", n, len(one))
		}
	}
	for name, spoil := range map[string]func([]byte){
		"an entry beyond the head":    func(b []byte) { binary.BigEndian.PutUint64(b[8:], 6) },
		"an entry without a position": func(b []byte) { binary.BigEndian.PutUint64(b[16:], 0) },
		"an entry without a chain":    func(b []byte) { binary.BigEndian.PutUint32(b[24:], 31) },
		"a position without an entry": func(b []byte) { binary.BigEndian.PutUint32(b[24:], 0) },
		"more than a commit may have": func(b []byte) { binary.BigEndian.PutUint32(b[24:], 1<<27) },
	} {
		b := bytes.Clone(one)
		spoil(b)
		if _, err := commitlog.ReadFrame(bytes.NewReader(b)); !errors.Is(err, commitlog.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadSome gives what comes before the first entry that is not to be had, and why that is not.
func TestReadSome(t *testing.T) {
	fails := errors.New("it fails")
	read := func(p commitlog.Position) (commitlog.Entry, error) {
		if p == 12 || p == 13 {
			return commitlog.Entry{}, fails
		}
		return commitlog.Entry{At: p}, nil
	}
	for _, c := range []struct{ from, n, want int }{{1, 5, 5}, {9, 8, 3}, {12, 4, 0}, {14, 2, 2}} {
		entries, err := commitlog.ReadSome(commitlog.Position(c.from), c.n, read)
		if len(entries) != c.want || (err != nil) != (c.want < c.n) || err != nil && !errors.Is(err, fails) {
			t.Errorf("%d from %d: %d, %v", c.n, c.from, len(entries), err)
		}
		for i, x := range entries {
			if x.At != commitlog.Position(c.from+i) {
				t.Errorf("entry %d is %d", i, x.At)
			}
		}
	}
}

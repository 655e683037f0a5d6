package gitproc_test

import (
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"golang.org/x/sys/unix"
)

// TestNobodyIsWokenForEachPiece: while a process prints much, what it has printed is taken at intervals.
func TestNobodyIsWokenForEachPiece(t *testing.T) {
	const pieces = 16384
	waits := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Nvcsw
	}
	before := waits()
	var out counter
	if err := misbehave(t, "exec /bin/dd if=/dev/zero bs=8192 count=16384 2>/dev/null", gitproc.Run{Out: &out}); err != nil {
		t.Fatal(err)
	}
	if n := waits() - before; out != pieces*8192 || n > pieces/8 {
		t.Errorf("%d bytes came, and this program waited %d times", out, n)
	}
}

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

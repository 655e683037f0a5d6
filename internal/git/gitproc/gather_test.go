package gitproc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
)

// pieces are what a process has printed, as it came.
type pieces struct {
	sizes []int
	came  func()
}

func (p *pieces) Write(b []byte) (int, error) {
	p.sizes = append(p.sizes, len(b))
	if p.came != nil {
		p.came()
	}
	return len(b), nil
}

func TestSmallPiecesAreGathered(t *testing.T) {
	var out pieces
	if err := misbehave(t, "exec /bin/dd if=/dev/zero bs=8192 count=256 2>/dev/null", gitproc.Run{Out: &out}); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, n := range out.sizes {
		all += n
	}
	if all != 256*8192 || len(out.sizes) > 60 {
		t.Errorf("%d bytes came in %d pieces", all, len(out.sizes))
	}
}

// What a process prints does not wait for what it may print later.
func TestNothingWaitsForMore(t *testing.T) {
	heard := filepath.Join(t.TempDir(), "heard")
	out := pieces{came: func() {
		if err := os.WriteFile(heard, nil, 0o600); err != nil {
			t.Error(err)
		}
	}}
	if err := misbehave(t, "echo first; while [ ! -e "+heard+" ]; do /bin/sleep 0.02; done; /bin/rm "+heard+"; echo second", gitproc.Run{Out: &out}); err != nil {
		t.Fatal(err)
	}
	if len(out.sizes) != 2 || out.sizes[0] != len("first\n") || out.sizes[1] != len("second\n") {
		t.Errorf("it came as %v", out.sizes)
	}
}

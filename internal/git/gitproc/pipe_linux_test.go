package gitproc

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type sizes []int

func (s *sizes) Write(b []byte) (int, error) { *s = append(*s, len(b)); return len(b), nil }

// TestALittleAgainAndAgainIsPassedOn: what a process prints does not wait for what it prints each few milliseconds after that.
func TestALittleAgainAndAgainIsPassedOn(t *testing.T) {
	p, err := newPrinted(&exec.Cmd{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	go func() {
		defer p.started()
		for range 1000 {
			_, _ = p.write.WriteString("x")
			time.Sleep(time.Millisecond)
		}
	}()
	var out sizes
	if err := pass(&out, p); err != nil || len(out) < 2 || slices.Max(out) > 100 {
		t.Errorf("%v, it came as %v", err, out)
	}
}

// TestASmallPipeIsNotLeftFull: where the system gives no room for a large pipe, a process does not wait for the next look into the pipe.
func TestASmallPipeIsNotLeftFull(t *testing.T) {
	const pieces = 8192
	p, err := newPrinted(&exec.Cmd{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if _, err := unix.FcntlInt(p.read.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	p.large = false
	go func() {
		defer p.started()
		for range pieces {
			_, _ = p.write.Write(make([]byte, 4096))
		}
	}()
	var out sizes
	all, began := 0, time.Now()
	if err := pass(&out, p); err != nil {
		t.Fatal(err)
	}
	for _, n := range out {
		all += n
	}
	if took := time.Since(began); all != pieces*4096 || took > pieces*interval/2 {
		t.Errorf("%d bytes took %s", all, took)
	}
}

package gitrepo_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// children is the processor time of all processes that ended.
func children(b *testing.B) time.Duration {
	b.Helper()
	var own, of syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &of); err != nil {
		b.Fatal(err)
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	return time.Duration(of.Utime.Nano() + of.Stime.Nano() + own.Utime.Nano() + own.Stime.Nano())
}

// BenchmarkPush compares a push of one commit with what git's own server takes for it, with checks and a hook that does nothing.
func BenchmarkPush(b *testing.B) {
	c := newClone(b)
	tip := c.commit("main", 100, gitwire.ObjectID{})
	base := c.pack("main")
	var packs [][]byte
	var tips ids
	next := func(i int) ([]byte, gitwire.ObjectID) {
		for len(packs) <= i {
			id := c.commit(fmt.Sprintf("n%d", len(packs)), 1, tip)
			packs, tips = append(packs, c.pack(id.String(), "^"+tip.String())), append(tips, id)
		}
		return packs[i], tips[i]
	}
	next(63)
	b.Run("graspd", func(b *testing.B) {
		d, _ := disk(b)
		push(b, d, some(1), base, gitrepo.Proving{Tips: ids{tip}})
		var cpu time.Duration
		n := 0
		for b.Loop() {
			pack, id := next(n % 64)
			if n++; n%64 == 0 {
				b.StopTimer()
				d, _ = disk(b)
				push(b, d, some(1), base, gitrepo.Proving{Tips: ids{tip}})
				b.StartTimer()
			}
			began := children(b)
			push(b, d, some(1), pack, gitrepo.Proving{Commits: ids{id}, Haves: ids{tip}})
			if err := d.Project(some(1), 0, refsOf("refs/heads/main", "refs/heads/main", id)); err != nil {
				b.Fatal(err)
			}
			cpu += children(b) - began
		}
		b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
	b.Run("receive-pack", func(b *testing.B) {
		var cpu time.Duration
		var to *clone
		fresh := func() {
			to = newClone(b)
			to.git(base, "index-pack", "--stdin")
			to.git(nil, "update-ref", "refs/heads/main", tip.String())
			if err := os.WriteFile(to.dir+"/hooks/pre-receive", []byte("#!/bin/sh\n"), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		fresh()
		n := 0
		for b.Loop() {
			pack, id := next(n % 64)
			if n++; n%64 == 0 {
				b.StopTimer()
				fresh()
				b.StartTimer()
			}
			line := fmt.Sprintf("%040x %s refs/heads/n%d\x00report-status", 0, id, n)
			in := fmt.Appendf(nil, "%04x%s0000%s", len(line)+4, line, pack)
			began := children(b)
			cmd := exec.Command("git", "-c", "receive.fsckObjects=true", "-c", "receive.unpackLimit=1", "receive-pack", "--stateless-rpc", to.dir)
			cmd.Stdin = bytes.NewReader(in)
			if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("unpack ok")) {
				b.Fatalf("%v: %q", err, out)
			}
			cpu += children(b) - began
		}
		b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
}

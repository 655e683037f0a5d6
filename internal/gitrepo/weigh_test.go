package gitrepo_test

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/gitproc"
	"github.com/graspd/graspd/internal/gitrepo"
	"github.com/graspd/graspd/internal/gitwire"
)

// made is a pack that is made by hand.
type made struct {
	n uint32
	b bytes.Buffer
}

// object adds one of a kind that says to have so many bytes, with what stands before them, and these.
func (m *made) object(kind byte, says int, before string, body []byte) {
	m.n++
	b := kind<<4 | byte(says&15)
	for says >>= 4; says > 0; says >>= 7 {
		m.b.WriteByte(b | 128)
		b = byte(says & 127)
	}
	m.b.WriteByte(b)
	m.b.WriteString(before)
	z := zlib.NewWriter(&m.b)
	_, _ = z.Write(body) // memory takes everything
	_ = z.Close()
}

// delta adds one that says to make so much of an object.
func (m *made) delta(from, to uint64, more ...byte) {
	body := binary.AppendUvarint(binary.AppendUvarint(nil, from), to)
	body = append(body, more...)
	m.object(7, len(body), strings.Repeat("x", 20), body)
}

func (m *made) pack() []byte {
	out := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), m.n)
	out = append(out, m.b.Bytes()...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

func madeOf(add func(*made)) []byte {
	m := &made{}
	add(m)
	return m.pack()
}

// TestWhatAPackWeighs: what git has to make of it counts, and not what was sent.
func TestWhatAPackWeighs(t *testing.T) {
	c := newClone(t)
	first := c.commit("main", 100, gitwire.ObjectID{})
	all := c.pack("main")
	c.commit("main", 3, first)
	thin := c.pack("main", "^"+first.String())
	noise := make([]byte, 17<<20)
	_, _ = rand.Read(noise) // it never fails
	zeros := make([]byte, 17<<20)
	head := func(n uint32) []byte { return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), n) }
	for name, x := range map[string]struct {
		pack []byte
		want bool
	}{
		"a hundred commits":                     {all, false},
		"some more, with deltas against those":  {thin, false},
		"nothing":                               {nil, false},
		"no objects":                            {madeOf(func(*made) {}), false},
		"cut off":                               {all[:len(all)/2], false},
		"no pack":                               {[]byte(lorem), false},
		"a million objects that do not come":    {head(1_000_000), true},
		"4,000 objects that do not come":        {head(4_000), false},
		"a large file":                          {c.packOf(parse(t, c.git(noise, "hash-object", "-w", "--stdin"))), true},
		"a large file of few bytes":             {c.packOf(parse(t, c.git(zeros, "hash-object", "-w", "--stdin"))), true},
		"a file":                                {c.packOf(parse(t, c.git(zeros[:15<<20], "hash-object", "-w", "--stdin"))), false},
		"a delta that makes little":             {madeOf(func(m *made) { m.delta(1000, 2000, 0x90, 1) }), false},
		"a delta that makes much":               {madeOf(func(m *made) { m.delta(1000, 400<<20, 0x90, 1) }), true},
		"a delta that makes more than there is": {madeOf(func(m *made) { m.delta(1000, 1<<34, 0x90, 1) }), true},
		"many that make little": {madeOf(func(m *made) {
			for range 3000 {
				m.delta(64<<10, 64<<10, 0x90, 1)
			}
		}), true},
		"one that says nothing of itself":      {madeOf(func(m *made) { m.object(7, 0, strings.Repeat("x", 20), nil) }), false},
		"a delta by its place that makes much": {madeOf(func(m *made) { m.object(6, 6, "\x85\x01", []byte{1, 0x80, 0x80, 0x80, 0x80, 1}) }), true},
		"more bytes than it says":              {madeOf(func(m *made) { m.object(3, 10, "", zeros); m.delta(1, 400<<20, 1) }), false},
		"fewer bytes than it says":             {madeOf(func(m *made) { m.object(3, 1000, "", []byte("x")); m.delta(1, 400<<20, 1) }), false},
		"says to be larger than anything":      {append(head(1), 0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), false},
		"says to be large, and is not there":   {append(head(1), 0xbf, 0xff, 0xff, 0x7f), true},
	} {
		if got := gitrepo.Heavy(bytes.NewReader(x.pack)); got != x.want {
			t.Errorf("%s: heavy is %v", name, got)
		}
	}
}

// TestALittlePushWaitsForNoBomb: packs that are much work to unpack have git work on them one at a time here, and others wait, of
// whatever addresses they are; a small one goes past them all.
func TestALittlePushWaitsForNoBomb(t *testing.T) {
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil || 20-own > 5 { // the call answers with 20 less the niceness
		t.Skipf("what is nicer cannot be told: %d, %v", own, err)
	}
	dir := t.TempDir()
	program, goOn := filepath.Join(dir, "git"), filepath.Join(dir, "go on")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`#!/bin/sh
read go <"$GIT_CONFIG_GLOBAL" # it has its limits now
case "$*" in *index-pack*) [ $(/usr/bin/nice) -lt %d ] || until [ -e '%s' ]; do /bin/sleep 0.02; done;; esac
exec %s "$@"
`, 20-own+10, goOn, git)
	syscall.ForkLock.RLock() // no process is started that would have the program open
	err = os.WriteFile(program, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gitproc.Open(t.Context(), gitproc.Config{Program: program, CPUs: 1, Queue: gitproc.Queue{Places: 8}}) // two of them for what is heavy
	if err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Git: g})
	c := newClone(t)
	bomb := c.packOf(parse(t, c.git(make([]byte, 20<<20), "hash-object", "-w", "--stdin")))
	main := c.commit("main", 1, gitwire.ObjectID{})
	small := c.pack("main")
	var bombs sync.WaitGroup
	ended := make(chan error, 3)
	for i := range 3 {
		bombs.Go(func() {
			q, err := d.Begin(gitrepo.ID{})
			if err == nil {
				_, err = q.Receive(t.Context(), io.MultiReader(bytes.NewReader(bomb)), gitrepo.Receiving{Party: fmt.Sprint("address ", i)})
				_ = q.Close()
			}
			ended <- err
		})
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for s := g.Stats(gitproc.Upload); s.Running != 1 || s.Queued != 2; s = g.Stats(gitproc.Upload) {
		<-look.C
		if len(ended) > 0 {
			t.Fatalf("%+v", s)
		}
	}
	_, err = begin(t, d, gitrepo.ID{}).Receive(t.Context(), bytes.NewReader(bomb), gitrepo.Receiving{Party: "address 3"})
	if !errors.Is(err, gitproc.ErrBusy) || !gitrepo.Costly(err) {
		t.Errorf("one more bomb: %v", err)
	}
	q, err := d.Begin(gitrepo.ID{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = q.Receive(t.Context(), bytes.NewReader(small), gitrepo.Receiving{Party: "another"}); err == nil {
		_, err = q.Prove(t.Context(), gitrepo.Proving{Tips: []gitwire.ObjectID{main}, Party: "another"})
	}
	if err != nil || len(ended) > 0 {
		t.Errorf("%v, %d bombs have ended", err, len(ended))
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bombs.Wait()
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// FuzzHeavy: whatever comes is weighed, by little work.
func FuzzHeavy(f *testing.F) {
	f.Add(madeOf(func(m *made) { m.object(3, 5, "", []byte("hello")); m.delta(5, 6, 1, 2) }))
	f.Add(madeOf(func(m *made) { m.object(6, 6, "\x85\x01", []byte{1, 0x80, 0x80, 0x80, 0x80, 1}) }))
	f.Fuzz(func(t *testing.T, pack []byte) {
		r := &countingReader{r: bytes.NewReader(pack)}
		_ = gitrepo.Heavy(r)
		if r.n > int64(len(pack)) {
			t.Errorf("%d bytes read of %d", r.n, len(pack))
		}
	})
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

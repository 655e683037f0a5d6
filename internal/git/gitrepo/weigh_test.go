package gitrepo_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
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
	t.Parallel()
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
		"nothing":                               {nil, true},
		"no objects":                            {madeOf(func(*made) {}), false},
		"cut off":                               {all[:len(all)/2], true},
		"no pack":                               {[]byte(lorem), true},
		"a million objects that do not come":    {head(1_000_000), true},
		"4,000 objects that do not come":        {head(4_000), true},
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
		"one that says nothing of itself":      {madeOf(func(m *made) { m.object(7, 0, strings.Repeat("x", 20), nil) }), true},
		"a delta by its place that makes much": {madeOf(func(m *made) { m.object(6, 6, "\x85\x01", []byte{1, 0x80, 0x80, 0x80, 0x80, 1}) }), true},
		"more bytes than it says":              {madeOf(func(m *made) { m.object(3, 10, "", zeros); m.delta(1, 2, 1) }), true},
		"fewer bytes than it says":             {madeOf(func(m *made) { m.object(3, 1000, "", []byte("x")); m.delta(1, 2, 1) }), true},
		"says to be larger than anything":      {append(head(1), 0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), true},
		"says to be large, and is not there":   {append(head(1), 0xbf, 0xff, 0xff, 0x7f), true},
		"a size in seven bytes": {madeOf(func(m *made) {
			m.object(7, 10, strings.Repeat("x", 20), []byte{1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0, 0x90, 1})
		}), true},
		"a little size in ten bytes": {madeOf(func(m *made) {
			m.object(7, 13, strings.Repeat("x", 20), []byte{1, 0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x90, 1})
		}), false},
		"a size without an end":         {madeOf(func(m *made) { m.object(7, 20, strings.Repeat("x", 20), bytes.Repeat([]byte{0x80}, 20)) }), true},
		"a delta that ends in its size": {madeOf(func(m *made) { m.object(7, 2, strings.Repeat("x", 20), []byte{1, 0x80}) }), true},
		"much that is sent, of little":  {append(madeOf(func(m *made) { m.object(3, 5, "", []byte("hello")) })[:12], append([]byte("\x35\x78\x9c"), bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 4<<20)...)...), true},
	} {
		r := &countingReader{r: bytes.NewReader(x.pack)}
		got, unknown, err := gitrepo.Weigh(t.Context(), r)
		if r.n > 16<<20 {
			t.Errorf("%s: %d bytes are read", name, r.n)
		}
		if got != x.want || unknown != x.want || err != nil {
			t.Errorf("%s: heavy is %v, unknown %v, %v", name, got, unknown, err)
		}
	}
	_, unknown, err := gitrepo.Weigh(t.Context(), bytes.NewReader(madeOf(func(m *made) { m.delta(1000, 2<<20, 0x90, 1) })))
	if !unknown || err != nil {
		t.Errorf("a delta that makes 2 MiB of anything: %v, %v", unknown, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	r := &countingReader{r: bytes.NewReader(all)}
	if _, _, err := gitrepo.Weigh(ended, r); !errors.Is(err, context.Canceled) || r.n > 0 {
		t.Errorf("nobody waits: %v, %d bytes", err, r.n)
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
`, 20-own+15, goOn, git)
	syscall.ForkLock.RLock() // no process is started that would have the program open
	err = os.WriteFile(program, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gitproc.Open(t.Context(), gitproc.Config{Program: program, CPUs: 1, Queue: gitproc.Queue{Places: 4}}) // two of them for what is heavy
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

// FuzzWeigh: whatever comes is weighed, by work that the bytes bound, and what is light is what git takes for little.
// TestWhatIsLong: a few commits are short work, and many small objects or what cannot be read are not.
func TestWhatIsLong(t *testing.T) {
	objects := func(n int) []byte {
		return madeOf(func(m *made) {
			for range n {
				m.object(3, 5, "", []byte("hello"))
			}
		})
	}
	for name, x := range map[string]struct {
		pack []byte
		want bool
	}{
		"one commit":            {objects(3), false},
		"many objects":          {objects(1000), true},
		"a delta of 2 MiB":      {madeOf(func(m *made) { m.delta(1000, 2<<20, 0x90, 1) }), true},
		"what nobody can weigh": {[]byte("PACKED"), true},
	} {
		if got, err := gitrepo.Long(t.Context(), bytes.NewReader(x.pack)); got != x.want || err != nil {
			t.Errorf("%s: long is %v, %v", name, got, err)
		}
	}
}

// TestALongPackIsRemembered: what follows on a long pack leaves the slot that is kept, too.
func TestALongPackIsRemembered(t *testing.T) {
	d, c := openDisk(t, gitrepo.Config{Dir: tempDir(t)}), newClone(t)
	c.commit("main", 1, gitwire.ObjectID{})
	for name, x := range map[string]struct {
		pack []byte
		want bool
	}{
		"one commit":     {c.pack("main"), false},
		"a file of 2 MB": {c.packOf(parse(t, c.git(make([]byte, 2<<20), "hash-object", "-w", "--stdin"))), true},
	} {
		q, err := d.Begin(gitrepo.ID{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Receive(t.Context(), bytes.NewReader(x.pack), gitrepo.Receiving{}); err != nil || gitrepo.IsLong(q) != x.want {
			t.Errorf("%s: long is %v, %v", name, gitrepo.IsLong(q), err)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzWeigh(f *testing.F) {
	f.Add(madeOf(func(m *made) { m.object(3, 5, "", []byte("hello")); m.delta(5, 6, 1, 2) }))
	f.Add(madeOf(func(m *made) { m.object(6, 6, "\x85\x01", []byte{1, 0x80, 0x80, 0x80, 0x80, 1}) }))
	f.Add(madeOf(func(m *made) { m.object(1, 2<<20, "", make([]byte, 2<<20)) }))
	f.Fuzz(func(t *testing.T, pack []byte) {
		r := &countingReader{r: bytes.NewReader(pack)}
		heavy, unknown, err := gitrepo.Weigh(t.Context(), r)
		if r.n > int64(len(pack)) || r.n > 16<<20 {
			t.Errorf("%d bytes read of %d", r.n, len(pack))
		}
		if len(pack) < 12 && err == nil && !heavy || heavy && !unknown {
			t.Errorf("heavy is %v, unknown %v, %v", heavy, unknown, err)
		}
	})
}

// TestWhatIsLightIsLittle: of packs made at random, with objects and deltas of any sizes written in any way, those are light that make little.
func TestWhatIsLightIsLittle(t *testing.T) {
	t.Parallel()
	chance := mathrand.New(mathrand.NewPCG(3, 4))
	size := func() uint64 { return chance.Uint64N(1 << chance.IntN(26)) }
	for range 300 {
		work := uint64(0)
		pack := madeOf(func(m *made) {
			for range 1 + chance.IntN(20) {
				work += 4 << 10
				if n := size() >> 4; chance.IntN(2) == 0 {
					work += n
					m.object(3, int(n), "", make([]byte, n))
					continue
				}
				from, to := size(), size()
				body := append(padded(chance, from), padded(chance, to)...)
				body = append(body, 0x90, 1)
				work += to + uint64(len(body))
				m.object(7, len(body), strings.Repeat("x", 20), body)
			}
		})
		heavy, _, err := gitrepo.Weigh(t.Context(), bytes.NewReader(pack))
		if err != nil || heavy != (work > 16<<20) {
			t.Fatalf("%d bytes of work: heavy is %v, %v", work, heavy, err)
		}
	}
}

// padded is a number in up to ten bytes, also where fewer would do.
func padded(chance *mathrand.Rand, n uint64) []byte {
	b := binary.AppendUvarint(nil, n)
	for len(b) < 10 && chance.IntN(3) > 0 {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

// TestLargeObjectsAreRefused: commits, tags and trees, also those that are made of others; files may be as large as they are.
func TestLargeObjectsAreRefused(t *testing.T) {
	t.Parallel()
	d, _ := disk(t)
	c := newClone(t)
	main := c.commit("main", 1, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Commits: ids{main}})
	tree := c.id("main^{tree}").String()
	text := func(n int) string { return strings.Repeat(strings.Repeat("z", 63)+"\n", n/64) }
	who := "a <a@example.com> 1 +0000\n\n"
	commit := func(n int) gitwire.ObjectID {
		return parse(t, c.git([]byte("tree "+tree+"\nauthor a <a@example.com> 1 +0000\ncommitter "+who+text(n)), "hash-object", "-w", "-t", "commit", "--stdin"))
	}
	tag := func(n int) gitwire.ObjectID {
		return parse(t, c.git([]byte("object "+main.String()+"\ntype commit\ntag v\ntagger "+who+text(n)), "hash-object", "-w", "-t", "tag", "--stdin"))
	}
	file := parse(t, c.git([]byte(text(3<<20)), "hash-object", "-w", "--stdin"))
	large, small := commit(2<<20), commit(1000)
	// A large commit as a delta of a small one, which it has many times.
	body := []byte(c.git(nil, "cat-file", "commit", small.String()) + "\n")
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(body))), uint64(len(body)*(1+3000)))
	for range 3001 {
		delta = append(delta, 0xb0, byte(len(body)), byte(len(body)>>8))
	}
	base, _ := hex.DecodeString(small.String())
	made := madeOf(func(m *made) { m.object(1, len(body), "", body); m.object(7, len(delta), string(base), delta) })
	noise := make([]byte, 17<<20)
	_, _ = rand.Read(noise) // it never fails
	heavy := parse(t, c.git(noise, "hash-object", "-w", "--stdin"))
	for name, x := range map[string]struct {
		pack  []byte
		taken bool
	}{
		"a commit":                      {c.packOf(large), false},
		"a tag":                         {c.packOf(tag(2 << 20)), false},
		"one among much else":           {c.packOf(heavy, large), false},
		"one that is made of another":   {made, false},
		"a large file":                  {c.packOf(file), true},
		"much else":                     {c.packOf(heavy, small), true},
		"a commit and a tag below that": {c.packOf(commit(1000<<10), tag(1000<<10)), true},
	} {
		q := begin(t, d, some(1))
		_, err := q.Receive(t.Context(), bytes.NewReader(x.pack), gitrepo.Receiving{})
		var refused *gitrepo.PackError
		if x.taken != (err == nil) || !x.taken && (!errors.As(err, &refused) || !refused.ByLimit || !strings.Contains(refused.Text, "may have 1 MiB here")) {
			t.Errorf("%s: %v", name, err)
		}
	}
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

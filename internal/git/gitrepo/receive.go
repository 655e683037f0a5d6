package gitrepo

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// inMemory is how much of a pack waits in memory for its end; the rest waits in a file. git starts when the whole pack is here, so
// that nobody takes a slot by sending slowly.
const inMemory = 256 << 10

func (q *quarantine) Receive(ctx context.Context, pack io.Reader, r Receiving) (Received, error) {
	if q.closed || q.proven || q.pack != "" {
		return Received{}, errors.New("quarantine: it takes no other pack")
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = 512 << 20
	}
	if r.MaxObjects == 0 {
		r.MaxObjects = 1_000_000
	}
	in := &intake{ended: func() error { return context.Cause(ctx) }, pack: pack, r: r, bytes: q.bytes.Store}
	whole, err := q.spool(in)
	if err != nil {
		return Received{}, fmt.Errorf("receiving a pack: %w", err)
	}
	if r.Whole != nil {
		r.Whole()
	}
	given := unpackTime(in.n)
	weight, err := weigh(ctx, whole)
	q.cpu, q.owner, q.heavy, q.long = proveFactor*given, r.Owner, weight.heavy, weight.long
	if err == nil {
		_, err = whole.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = q.index(ctx, whole, r, given)
	}
	if err == nil && weight.unknown {
		err = q.refuseLarge(ctx, r.Party)
	}
	if err = errors.Join(err, whole.Close(), q.d.dir.removeFiles(q.spoolName())); err != nil {
		return Received{}, err
	}
	return q.received()
}

func (q *quarantine) spoolName() string { return q.dir + "/spool" }

// How long git may work on a pack: histories take a tenth of it, and bombs are made to take hundreds of times as long.
const (
	unpackFree   = 3 * time.Second // of the processor
	unpackPerMiB = time.Second
	proveFactor  = 6 // for the proof afterwards, in the repository that the pack goes to
)

// unpackTime is what a pack of so many bytes may take to unpack.
func unpackTime(bytes int64) time.Duration {
	return unpackFree + time.Duration(bytes>>20)*unpackPerMiB
}

// spooled is a pack that is here, and may be read more than once.
type spooled interface {
	io.ReadSeeker
	io.Closer
}

type inMind struct{ *bytes.Reader }

func (inMind) Close() error { return nil }

// spool reads a pack to its end.
func (q *quarantine) spool(in *intake) (spooled, error) {
	head, err := io.ReadAll(io.LimitReader(in, inMemory))
	if err != nil {
		return nil, err
	}
	if len(head) < inMemory {
		return inMind{bytes.NewReader(head)}, nil
	}
	f, err := q.d.dir.root.Create(q.spoolName())
	if err != nil {
		return nil, noted(err)
	}
	if _, err = f.Write(head); err == nil {
		if _, err = io.Copy(f, in); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	if err != nil {
		return nil, noted(errors.Join(err, f.Close(), q.d.dir.removeFiles(q.spoolName())))
	}
	return f, nil
}

// index has git make the pack a pack of the quarantine.
func (q *quarantine) index(ctx context.Context, pack io.Reader, r Receiving, given time.Duration) error {
	var out brief
	// What a thin pack builds on is added to it.
	run := gitproc.Run{Party: r.Party, In: pack, Out: &out, MaxFile: 2*r.MaxBytes + 64<<20, CPU: given, Greedy: q.heavy}
	if err := q.run(ctx, gitproc.IndexPack(r.MaxBytes), run); err != nil {
		return packError(err)
	}
	name, err := packName(out.b)
	if err == nil {
		q.pack = "pack-" + name
	}
	return err
}

// packName is the checksum that index-pack names a pack by. index-pack hands on what follows the pack. Behind that it prints the ids that trees
// have as .gitmodules and that are not here, which is no failure to index-pack.
func packName(printed []byte) (string, error) {
	line, more, _ := bytes.Cut(printed, []byte("\n"))
	first, _, _ := bytes.Cut(more, []byte("\n"))
	if id, err := gitwire.ParseObjectID(first); err == nil {
		return "", notTaken("gitmodulesMissing", fmt.Sprintf("object %s is not taken: gitmodulesMissing: a tree has it as .gitmodules, and it is not here", id))
	}
	name, ok := bytes.CutPrefix(line, []byte("pack\t"))
	if _, err := gitwire.ParseObjectID(name); err != nil || !ok || len(more) > 0 {
		return "", &PackError{Text: "something follows the pack"}
	}
	return string(name), nil
}

// received counts the objects and bytes of the pack.
func (q *quarantine) received() (Received, error) {
	x, err := q.d.dir.openIndex(q.file(".idx"))
	if err != nil {
		return Received{}, err
	}
	r := Received{Objects: int64(x.len())}
	if err := x.file.Close(); err != nil {
		return Received{}, err
	}
	if r.Objects == 0 {
		if err := q.dropPack(); err != nil {
			return Received{}, err
		}
	}
	r.Bytes, err = q.measure()
	return r, err
}

// intake is a pack as it comes in, within its bounds.
type intake struct {
	ended func() error
	pack  io.Reader
	r     Receiving
	bytes func(int64)
	n     int64
	head  []byte
}

func (in *intake) Read(b []byte) (int, error) {
	if err := in.ended(); err != nil {
		return 0, err
	}
	n, err := in.pack.Read(b)
	if n > 0 {
		if refusal := in.take(b[:n]); refusal != nil {
			return 0, refusal
		}
	}
	return n, err
}

func (in *intake) take(b []byte) error {
	in.n += int64(len(b))
	if in.n > in.r.MaxBytes {
		return &PackError{Text: fmt.Sprintf("the pack is larger than the %s that one push may have", size(in.r.MaxBytes)), ByLimit: true}
	}
	in.bytes(in.n)
	if in.r.Grown != nil {
		if err := in.r.Grown(in.n); err != nil {
			return err
		}
	}
	if missing := packHead - len(in.head); missing > 0 {
		in.head = append(in.head, b[:min(missing, len(b))]...)
		return in.checkHead()
	}
	return nil
}

// packHead is the length of what a pack begins with: "PACK", a version, and how many objects follow.
const packHead = 12

func (in *intake) checkHead() error {
	if len(in.head) < packHead {
		return nil
	}
	if string(in.head[:4]) != "PACK" {
		return &PackError{Text: "what was sent is no pack"}
	}
	if n := int64(binary.BigEndian.Uint32(in.head[8:])); n > in.r.MaxObjects {
		return &PackError{Text: fmt.Sprintf("the pack has %d objects, and one push may have %d", n, in.r.MaxObjects), ByLimit: true}
	}
	return nil
}

// size is a number of bytes as people read it.
func size(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// brief keeps what a command prints that prints little.
type brief struct{ b []byte }

func (o *brief) Write(b []byte) (int, error) {
	o.b = append(o.b, b[:min(len(b), 1024-len(o.b))]...)
	return len(b), nil
}

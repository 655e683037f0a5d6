package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // it is what git names objects by
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// sort is what an entry of a pack is (gitformat-pack(5)).
type sort byte

const (
	commitSort sort = 1
	treeSort   sort = 2
	blobSort   sort = 3
	tagSort    sort = 4
	deltaSort  sort = 7 // to an object that is named
)

func (s sort) String() string { return [...]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}[s] }

// object is one of git's objects.
type object struct {
	sort
	body []byte
}

func (o object) sum() [20]byte {
	return sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", o.sort, len(o.body)), o.body...))
}

func (o object) id() gitwire.ObjectID { return gitwire.ObjectIDOf(o.sum()) }

func blob(text string) object { return object{blobSort, []byte(text)} }

// tree is one with a file of each name, in that order.
func tree(sum [20]byte, names ...string) object {
	var b []byte
	for _, n := range names {
		b = append(fmt.Appendf(b, "100644 %s\x00", n), sum[:]...)
	}
	return object{treeSort, b}
}

// commit is one of a tree; number makes it unlike others.
func commit(of gitwire.ObjectID, number int64, parents ...gitwire.ObjectID) object {
	text := "tree " + of.String() + "\n"
	for _, p := range parents {
		text += "parent " + p.String() + "\n"
	}
	const who = "a <a@example.org> 1700000000 +0000"
	return object{commitSort, fmt.Appendf(nil, "%sauthor %s\ncommitter %s\n\nnumber %d\n", text, who, who, number)}
}

// pack is one that is being made.
type pack struct {
	b bytes.Buffer
	n uint32
	z *zlib.Writer // used again and again, as it is large
}

func packOf(objects ...object) *pack {
	p := &pack{}
	for _, o := range objects {
		p.add(o.sort, nil, o.body)
	}
	return p
}

// add appends an entry, as it may be in no pack too.
func (p *pack) add(s sort, base, body []byte) {
	p.head(s, len(body))
	p.b.Write(base)
	if p.z == nil {
		p.z = zlib.NewWriter(&p.b)
	}
	p.z.Reset(&p.b)
	_, _ = p.z.Write(body) // into memory
	_ = p.z.Close()
}

// head begins an entry of so many bytes.
func (p *pack) head(s sort, size int) {
	p.n++
	c := byte(s)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.b.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	p.b.WriteByte(c)
}

// delta appends what is made of an object of so many bytes by copying it, or a beginning of it, so many times.
func (p *pack) delta(base [20]byte, size, part, times int) {
	d := appendSize(appendSize(nil, size), part*times)
	for range times {
		d = append(d, 0x80|0x70, byte(part), byte(part>>8), byte(part>>16))
	}
	p.add(deltaSort, base[:], d)
}

// named is an object that others are deltas of.
type named struct {
	sum  [20]byte
	size int
}

func (o object) named() named { return named{o.sum(), len(o.body)} }

// naming appends an object as a delta that takes nothing of its base, so that git makes all of the base for it. size writes a size.
func (p *pack) naming(base named, o object, size func([]byte, int) []byte) {
	d := size(size(nil, base.size), len(o.body))
	for rest := o.body; len(rest) > 0; {
		n := min(127, len(rest))
		d = append(append(d, byte(n)), rest[:n]...)
		rest = rest[n:]
	}
	p.add(deltaSort, base.sum[:], d)
}

// inserting appends a delta to an object of no more than 64 KiB whose beginning it replaces.
func (p *pack) inserting(base object, begins []byte) {
	n := len(base.body)
	d := append(appendSize(appendSize(nil, n), n), byte(len(begins)))
	d = append(d, begins...)
	from, left := len(begins), n-len(begins)
	d = append(d, 0x80|0x03|0x30, byte(from), byte(from>>8), byte(left), byte(left>>8))
	sum := base.sum()
	p.add(deltaSort, sum[:], d)
}

func appendSize(b []byte, n int) []byte {
	for ; n > 0x7f; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// appendLong writes a size in seven bytes, which git reads as well.
func appendLong(b []byte, n int) []byte {
	for range 6 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

// end gives the pack as it is sent.
func (p *pack) end() []byte { return p.claiming(p.n) }

// claiming gives it with that number of objects in its head.
func (p *pack) claiming(n uint32) []byte {
	b := append(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), n), p.b.Bytes()...)
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

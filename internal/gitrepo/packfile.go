package gitrepo

import (
	"bytes"
	"compress/zlib"
	"io"
)

// objectType is the type of an object as it stands in a pack (gitformat-pack(5)).
type objectType uint8

const (
	commitObject objectType = 1
	treeObject   objectType = 2
	blobObject   objectType = 3
	tagObject    objectType = 4
	ofsDelta     objectType = 6
	refDelta     objectType = 7
)

func (t objectType) String() string {
	return [...]string{commitObject: "commit", treeObject: "tree", blobObject: "blob", tagObject: "tag", refDelta: ""}[t]
}

// unpackBytes is how much of a pack's content is in memory at a time, with what it was made of.
const unpackBytes = 16 << 20

// packFile is a small pack in memory. Its methods fail with errWalk where the pack is not as git makes packs, or too large.
type packFile struct {
	raw    []byte
	c      *content
	places []uint32       // of the objects of c.all
	at     map[uint32]int // places
	made   map[int][]byte // contents
	left   int            // bytes that contents may still take

	compressed bytes.Reader
	z          io.ReadCloser // reads compressed; nil at first
}

func newPackFile(raw []byte, c *content, places []uint32) *packFile {
	p := &packFile{raw: raw, c: c, places: places, at: make(map[uint32]int, len(places)), made: map[int][]byte{}, left: unpackBytes}
	for i, place := range places {
		p.at[place] = i
	}
	return p
}

// entry is an object in a pack: its type, or how it is made of a base.
type entry struct {
	kind objectType
	size uint64
	base int    // of a delta: the object that it is made of
	data []byte // begins with what is compressed
}

func (p *packFile) entry(n int) (e entry, err error) {
	place := uint64(p.places[n])
	if place >= uint64(len(p.raw)) {
		return e, errWalk
	}
	b := p.raw[place:]
	first := b[0]
	e.kind, e.size = objectType(first>>4&7), uint64(first&15)
	b = b[1:]
	for shift := 4; first&128 != 0; shift += 7 {
		if len(b) == 0 || shift > 32 {
			return e, errWalk
		}
		first, b = b[0], b[1:]
		e.size |= uint64(first&127) << shift
	}
	switch e.kind {
	case commitObject, treeObject, blobObject, tagObject:
	case refDelta:
		if len(b) < len(sum{}) {
			return e, errWalk
		}
		var ok bool
		if e.base, ok = p.c.find(sum(b[:len(sum{})])); !ok {
			return e, errWalk
		}
		b = b[len(sum{}):]
	case ofsDelta:
		back, rest, ok := backward(b)
		if !ok || back > place {
			return e, errWalk
		}
		if e.base, ok = p.at[uint32(place-back)]; !ok {
			return e, errWalk
		}
		b = rest
	default:
		return e, errWalk
	}
	e.data = b
	return e, nil
}

// backward reads the distance from an object back to its base.
func backward(b []byte) (back uint64, rest []byte, ok bool) {
	for n := range min(len(b), 6) {
		back = back<<7 | uint64(b[n]&127)
		if b[n]&128 == 0 {
			return back, b[n+1:], back > 0
		}
		back++
	}
	return 0, nil, false
}

// chain returns the entries that an object is made of: itself, its base, and so on to one that is no delta.
func (p *packFile) chain(n int) (all []entry, at []int, err error) {
	for {
		e, err := p.entry(n)
		if err != nil || len(all) > len(p.places) {
			return nil, nil, errWalk
		}
		all, at = append(all, e), append(at, n)
		if e.kind <= tagObject {
			return all, at, nil
		}
		n = e.base
	}
}

// kind returns the type of an object.
func (p *packFile) kind(n int) (objectType, error) {
	all, _, err := p.chain(n)
	if err != nil {
		return 0, err
	}
	return all[len(all)-1].kind, nil
}

// content returns the bytes of an object.
func (p *packFile) content(n int) ([]byte, error) {
	all, at, err := p.chain(n)
	if err != nil {
		return nil, err
	}
	var whole []byte
	for i := len(all) - 1; i >= 0; i-- {
		if made, ok := p.made[at[i]]; ok {
			whole = made
			continue
		}
		data, err := p.inflate(all[i])
		if err != nil {
			return nil, err
		}
		if all[i].kind <= tagObject {
			whole = data
		} else if whole, err = p.patch(whole, data); err != nil {
			return nil, err
		}
		p.made[at[i]] = whole
	}
	return whole, nil
}

// take counts bytes of memory.
func (p *packFile) take(n uint64) bool {
	if n > uint64(p.left) {
		return false
	}
	p.left -= int(n)
	return true
}

func (p *packFile) inflate(e entry) ([]byte, error) {
	if !p.take(e.size) {
		return nil, errWalk
	}
	if err := p.open(e.data); err != nil {
		return nil, errWalk
	}
	out := make([]byte, e.size)
	if _, err := io.ReadFull(p.z, out); err != nil {
		return nil, errWalk
	}
	return out, nil
}

// open lets z read compressed bytes. One reader serves all objects, as it takes 40 KiB.
func (p *packFile) open(data []byte) (err error) {
	p.compressed.Reset(data)
	if p.z == nil {
		p.z, err = zlib.NewReader(&p.compressed)
		return err
	}
	return p.z.(zlib.Resetter).Reset(&p.compressed, nil)
}

// patch applies a delta to a base.
func (p *packFile) patch(base, delta []byte) ([]byte, error) {
	from, delta, ok := deltaSize(delta)
	size, delta, ok2 := deltaSize(delta)
	if !ok || !ok2 || from != uint64(len(base)) || !p.take(size) {
		return nil, errWalk
	}
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var part []byte
		if op&128 == 0 {
			n := int(op)
			if n == 0 || n > len(delta) {
				return nil, errWalk
			}
			part, delta = delta[:n], delta[n:]
		} else {
			var v [7]uint64
			for i := range v {
				if op>>i&1 == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil, errWalk
				}
				v[i], delta = uint64(delta[0]), delta[1:]
			}
			at, n := v[0]|v[1]<<8|v[2]<<16|v[3]<<24, v[4]|v[5]<<8|v[6]<<16
			if n == 0 {
				n = 0x10000
			}
			if at+n > uint64(len(base)) {
				return nil, errWalk
			}
			part = base[at : at+n]
		}
		if uint64(len(out)+len(part)) > size {
			return nil, errWalk
		}
		out = append(out, part...)
	}
	if uint64(len(out)) != size {
		return nil, errWalk
	}
	return out, nil
}

// deltaSize reads a size at the beginning of a delta.
func deltaSize(b []byte) (n uint64, rest []byte, ok bool) {
	for i := range min(len(b), 5) {
		n |= uint64(b[i]&127) << (7 * i)
		if b[i]&128 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}

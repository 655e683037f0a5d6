package refdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// format is the first byte of a row. A row of the format before it, undated, has refs of pull requests without their times and authors.
const (
	format  = 2
	undated = 1
)

const idLen = 20 // bytes of an object's id, which is a SHA-1

var errRow = errors.New("a repository's row is damaged")

// Append appends the row: the byte format, then numbers as uvarints, texts with their length before them, and ids as they are.
func (r Repository) Append(dst []byte) []byte {
	p := r.Refs
	dst = append(dst, format)
	dst = binary.AppendUvarint(dst, p.Generation)
	dst = append(dst, r.Dir[:]...)
	dst = appendText(dst, r.Of.String())
	dst = binary.AppendUvarint(dst, uint64(r.Bytes))
	dst = binary.AppendUvarint(dst, uint64(r.Moved))
	dst = binary.AppendUvarint(dst, uint64(r.Gone))
	if p.Ruled {
		dst = append(dst, 1)
		dst = binary.AppendVarint(dst, p.CreatedAt)
		dst = append(dst, p.ID[:]...)
		dst = append(dst, p.Author[:]...)
		dst = appendText(dst, p.Head)
		dst = appendRefs(dst, p.Refs)
	} else {
		dst = append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.PullRequests)))
	for _, x := range p.PullRequests {
		dst = binary.AppendVarint(append(dst, x.ID[:]...), x.CreatedAt)
		dst = appendID(append(dst, x.Author[:]...), x.Tip)
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.Peeled)))
	for _, id := range sortedKeys(r.Peeled) {
		dst = appendID(appendID(dst, id), r.Peeled[id])
	}
	return dst
}

// Head reads the beginning of a row: the generation of the repository's refs, and its directory.
func Head(row []byte) (generation uint64, dir Dir, err error) {
	p := parser{b: row}
	p.format()
	generation = p.number()
	copy(dir[:], p.take(len(dir)))
	return generation, dir, p.err
}

// Brief reads a row but for the refs, which may be many.
func Brief(row []byte) (Repository, error) {
	p := parser{b: row}
	r := p.brief()
	return r, p.err
}

func (p *parser) brief() (r Repository) {
	p.format()
	r.Refs.Generation = p.number()
	copy(r.Dir[:], p.take(len(r.Dir)))
	r.Of = p.address()
	r.Bytes, r.Moved, r.Gone = int64(p.number()), int64(p.number()), int64(p.number())
	return r
}

// Parse reads a row.
func Parse(row []byte) (Repository, error) {
	p := parser{b: row}
	r := p.brief()
	switch of := &r.Refs; p.byte() {
	case 0:
	case 1:
		of.Ruled, of.D = true, r.Of.D
		of.CreatedAt = p.signed()
		copy(of.ID[:], p.take(len(of.ID)))
		copy(of.Author[:], p.take(len(of.Author)))
		of.Head = p.text()
		of.Refs = p.refs()
	default:
		p.fail("ruling")
	}
	r.Refs.PullRequests = p.pulls()
	if n := p.count(2 * idLen); n > 0 {
		r.Peeled = make(map[gitwire.ObjectID]gitwire.ObjectID, n)
		for range n {
			id := p.id()
			r.Peeled[id] = p.id()
		}
	}
	if p.err == nil && len(p.b) > 0 {
		p.fail("end")
	}
	if p.err != nil {
		return Repository{}, p.err
	}
	return r, nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendID(dst []byte, id gitwire.ObjectID) []byte {
	return id.AppendRaw(dst)
}

func appendRefs(dst []byte, s refs.Set) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	for _, r := range s {
		dst = appendID(appendText(dst, r.Name), r.ID)
	}
	return dst
}

func sortedKeys(m map[gitwire.ObjectID]gitwire.ObjectID) []gitwire.ObjectID {
	ids := make([]gitwire.ObjectID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, gitwire.ObjectID.Compare)
	return ids
}

// parser takes a row apart. After its first error it returns zero values.
type parser struct {
	b       []byte
	version byte
	err     error
}

func (p *parser) fail(what string) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", errRow, what)
	}
	p.b = nil
}

func (p *parser) take(n int) []byte {
	if n > len(p.b) {
		p.fail("too short")
		return nil
	}
	taken := p.b[:n]
	p.b = p.b[n:]
	return taken
}

func (p *parser) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) format() {
	if p.version = p.byte(); p.err == nil && p.version != format && p.version != undated {
		p.fail(fmt.Sprintf("format %d", p.version))
	}
}

func (p *parser) number() uint64 {
	n, size := binary.Uvarint(p.b)
	if size <= 0 {
		p.fail("number")
		return 0
	}
	p.b = p.b[size:]
	return n
}

func (p *parser) signed() int64 {
	n, size := binary.Varint(p.b)
	if size <= 0 {
		p.fail("number")
		return 0
	}
	p.b = p.b[size:]
	return n
}

// count reads a number of things of at least size bytes each.
func (p *parser) count(size int) int {
	n := p.number()
	if n > uint64(len(p.b)/size) {
		p.fail("count")
		return 0
	}
	return int(n)
}

func (p *parser) text() string { return string(p.take(p.count(1))) }

func (p *parser) id() gitwire.ObjectID {
	raw := p.take(idLen)
	if raw == nil {
		return gitwire.ObjectID{}
	}
	return gitwire.ObjectIDOf([idLen]byte(raw))
}

func (p *parser) refs() refs.Set {
	n := p.count(1 + idLen)
	if n == 0 {
		return nil
	}
	s := make(refs.Set, 0, n)
	for range n {
		name := p.text()
		s = append(s, refs.Ref{Name: name, ID: p.id()})
	}
	return s
}

func (p *parser) pulls() (s refs.Pulls) {
	if p.version == undated {
		for _, r := range p.refs() {
			x, err := refs.PullOf(r)
			if err != nil {
				p.fail("pull request")
			}
			s = append(s, x)
		}
		return s
	}
	for range p.count(len(nostr.ID{}) + 1 + len(nostr.PubKey{}) + idLen) {
		var x refs.Pull
		copy(x.ID[:], p.take(len(x.ID)))
		x.CreatedAt = p.signed()
		copy(x.Author[:], p.take(len(x.Author)))
		x.Tip = p.id()
		s = append(s, x)
	}
	return s
}

func (p *parser) address() nip34.Address {
	a, err := grasp.ParseHosted(p.text())
	if err != nil {
		p.fail("address")
	}
	return a
}

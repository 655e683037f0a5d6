package refdb

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Where packs lie in an object store, the manifest of a repository says which packs it has: a row, committed in one batch with the refs that lead
// to them. Its directory on a disk is a cache then, and what lies there besides counts for nothing.

// Bounds of a manifest.
const (
	maxPacks = 4096 // packs of one repository; beyond, nothing comes in until they are combined
	maxFile  = 1 << 40
)

// Prefixes of the names of rows about packs.
const (
	ManifestPrefix = "packs/"   // rows with a Manifest, by directory
	RemovedPrefix  = "removed/" // rows of repositories that were removed: when, and their Manifest
	TrashPrefix    = "trash/"   // rows of objects that no manifest may take any more, with the unix time since which that is so
)

// Suffixes are the kinds of files that a pack may have, in the order in which they may appear: one that leads readers to others comes after them.
var Suffixes = []string{".pack", ".rev", ".bitmap", ".mtimes", ".idx"}

// File is a file of a pack, as it lies in the object store.
type File struct {
	Suffix string // one of Suffixes
	Bytes  int64
	Sum    [sha256.Size]byte
}

// PackName is the checksum by which git names a pack.
type PackName [20]byte

func (n PackName) String() string { return "pack-" + hex.EncodeToString(n[:]) }

// ParsePackName reads a name as String writes it.
func ParsePackName(s string) (n PackName, err error) {
	digits, is := strings.CutPrefix(s, "pack-")
	if raw, bad := hex.DecodeString(digits); is && bad == nil && len(raw) == len(n) && strings.ToLower(digits) == digits {
		return PackName(raw), nil
	}
	return n, fmt.Errorf("%.60q is no name of a pack", s)
}

// Pack is a pack of a repository, and where its files lie in the object store. They were put there once, and are never changed.
type Pack struct {
	Name   PackName
	Term   uint64   // in which they were put
	Random [16]byte // of the names of its objects
	Files  []File   // in the order of Suffixes; the first is the pack itself, the last its index
}

// ObjectPrefix is the beginning of the names of all objects of packs.
const ObjectPrefix = "packs/"

// Object returns the beginning of the names of the objects: the hash of the pack, the term and the random bytes.
func (p Pack) Object() string {
	return ObjectPrefix + hex.EncodeToString(p.Files[0].Sum[:]) + "-" + strconv.FormatUint(p.Term, 10) + "-" + hex.EncodeToString(p.Random[:])
}

// Bytes returns how many bytes the files have.
func (p Pack) Bytes() (n int64) {
	for _, f := range p.Files {
		n += f.Bytes
	}
	return n
}

// Has reports whether the pack has a file of that kind.
func (p Pack) Has(suffix string) bool {
	return slices.ContainsFunc(p.Files, func(f File) bool { return f.Suffix == suffix })
}

// Manifest is the packs of a repository, in the order of their names.
type Manifest []Pack

// Find returns the pack of that name.
func (m Manifest) Find(n PackName) (Pack, bool) {
	i, ok := slices.BinarySearchFunc(m, n, func(p Pack, n PackName) int { return bytes.Compare(p.Name[:], n[:]) })
	if !ok {
		return Pack{}, false
	}
	return m[i], true
}

// Bytes returns how many bytes all files have.
func (m Manifest) Bytes() (n int64) {
	for _, p := range m {
		n += p.Bytes()
	}
	return n
}

// with returns the manifest with some packs more. Of two with one name the new one stays, whose files may be more.
func (m Manifest) with(packs []Pack) (Manifest, error) {
	out := slices.Clone(m)
	for _, p := range packs {
		i, ok := slices.BinarySearchFunc(out, p.Name, func(q Pack, n PackName) int { return bytes.Compare(q.Name[:], n[:]) })
		if ok {
			out[i] = p
		} else {
			out = slices.Insert(out, i, p)
		}
	}
	if len(out) > maxPacks && len(out) > len(m) {
		return nil, ErrManyPacks
	}
	return out, nil
}

// without returns the manifest without the packs of these names.
func (m Manifest) without(names []PackName) Manifest {
	return slices.DeleteFunc(slices.Clone(m), func(p Pack) bool { return slices.Contains(names, p.Name) })
}

// Errors of manifests.
var (
	// ErrManyPacks says that a repository has as many packs as it may.
	ErrManyPacks = errors.New("the repository has as many packs as it may, until they are combined")
	// ErrTrashed says that the objects of a pack are on their way out, so that no manifest may take them.
	ErrTrashed = errors.New("the objects of the pack are being removed")

	errManifest = errors.New("a repository's manifest is damaged")
)

const manifestFormat = 1 // the first byte of a manifest's row

// Append appends the manifest as its row has it: the format, the number of packs, and of each its name, term, random bytes, number of files and
// files, each with its kind, bytes and hash. Numbers are uvarints, and all others as they are.
func (m Manifest) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, manifestFormat), uint64(len(m)))
	for _, p := range m {
		dst = binary.AppendUvarint(append(dst, p.Name[:]...), p.Term)
		dst = append(append(dst, p.Random[:]...), byte(len(p.Files)))
		for _, f := range p.Files {
			dst = append(dst, byte(slices.Index(Suffixes, f.Suffix)))
			dst = append(binary.AppendUvarint(dst, uint64(f.Bytes)), f.Sum[:]...)
		}
	}
	return dst
}

// The fewest bytes of a file and of a pack in a row: a pack has itself and its index.
const (
	fileLen = 1 + 1 + sha256.Size
	packLen = len(PackName{}) + 1 + 16 + 1 + 2*fileLen
)

// ParseManifest reads a manifest as Append writes it. Each manifest has one form: what Append would write otherwise is an error.
func ParseManifest(row []byte) (Manifest, error) {
	p := parser{b: row}
	if f := p.byte(); f != manifestFormat {
		p.fail(fmt.Sprintf("format %d", f))
	}
	n := p.count(packLen)
	if n > maxPacks {
		p.fail("too many packs")
		n = 0
	}
	m := make(Manifest, 0, n)
	for range n {
		x := p.pack()
		if len(m) > 0 && bytes.Compare(m[len(m)-1].Name[:], x.Name[:]) >= 0 {
			p.fail("order of packs")
		}
		m = append(m, x)
	}
	if p.err == nil && len(p.b) > 0 {
		p.fail("end")
	}
	if p.err == nil && len(m.Append(nil)) != len(row) {
		p.fail("length of a number")
	}
	if p.err != nil {
		return nil, fmt.Errorf("%w: %w", errManifest, p.err)
	}
	return m, nil
}

func (p *parser) pack() (x Pack) {
	copy(x.Name[:], p.take(len(x.Name)))
	x.Term = p.number()
	copy(x.Random[:], p.take(len(x.Random)))
	last := -1
	for range int(min(p.byte(), byte(len(Suffixes)+1))) {
		kind := int(p.byte())
		if kind >= len(Suffixes) || kind <= last {
			p.fail("kind of a file")
			return x
		}
		last = kind
		f := File{Suffix: Suffixes[kind]}
		n := p.number()
		if n > maxFile {
			p.fail("length of a file")
		}
		f.Bytes = int64(n)
		copy(f.Sum[:], p.take(len(f.Sum)))
		x.Files = append(x.Files, f)
	}
	if n := len(x.Files); n < 2 || x.Files[0].Suffix != ".pack" || x.Files[n-1].Suffix != ".idx" {
		p.fail("files of a pack")
	}
	return x
}

// ManifestName returns the name of the row with the manifest of a directory.
func ManifestName(d Dir) string { return ManifestPrefix + hex.EncodeToString(d[:]) }

// ParseDir reads a directory as names of rows about its packs have it.
func ParseDir(s string) (d Dir, err error) {
	if raw, bad := hex.DecodeString(s); bad == nil && len(raw) == len(d) {
		return Dir(raw), nil
	}
	return d, fmt.Errorf("%.60q is no directory", s)
}

// RemovedName returns the name of the row with the manifest that a removed repository had.
func RemovedName(d Dir) string { return RemovedPrefix + hex.EncodeToString(d[:]) }

// TrashName returns the name of the row that says that the objects whose names begin so are on their way out.
func TrashName(object string) string { return TrashPrefix + strings.TrimPrefix(object, ObjectPrefix) }

// ReadManifest reads the manifest of a directory. Without a row there are no packs.
func ReadManifest(rows Rows, d Dir) (Manifest, error) {
	b, err := rows.Row(ManifestName(d))
	if err != nil || b == nil {
		return nil, err
	}
	return ParseManifest(b)
}

package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/graspd/graspd/internal/gitwire"
)

// Bounds of the packs that walk reads. Most pushes are far below; git walks through the others.
const (
	walkBytes   = 1 << 20 // of the pack
	walkObjects = 4096    // in it
)

// errWalk says that git has to walk instead. It stays inside the package.
var errWalk = errors.New("not walked here")

// walk is a way from the tips of a push through its pack to what the repository has. git has proven by then that whatever an object of
// the pack names is there, in the pack or beside it, and is of the right type (index-pack --strict), and what is in the repository is
// complete: the walk finds out what of the pack is needed, and what the tips are. It starts no process.
type walk struct {
	pack   *packFile
	c      *content
	absent []sum // of c.all, what the repository lacks
	kinds  map[gitwire.ObjectID]objectType
	peeled map[gitwire.ObjectID]gitwire.ObjectID
	beside []gitwire.ObjectID // what the way ends at
}

// walk walks from tips that are all in the pack, and marks the objects on the way. It fails with errWalk where git has to do that.
func (q *quarantine) walk(c *content, tips []gitwire.ObjectID) (*walk, error) {
	if len(c.all) > walkObjects || len(tips) == 0 {
		return nil, errWalk
	}
	pack, err := q.readPack(c)
	if err != nil {
		return nil, err
	}
	w := &walk{pack: pack, c: c, kinds: map[gitwire.ObjectID]objectType{}, peeled: map[gitwire.ObjectID]gitwire.ObjectID{}}
	if w.absent, err = q.d.packs.absent(q.beside, c.all); err != nil {
		return nil, err
	}
	reached := make([]bool, len(c.all))
	if err := w.follow(reached, tips); err != nil {
		return nil, err
	}
	if lacks, err := q.d.packs.lacks(q.beside, w.beside); err != nil || len(lacks) > 0 {
		return nil, errors.Join(err, errWalk) // git says what is missing
	}
	for _, tip := range tips {
		if err := w.peel(tip); err != nil {
			return nil, err
		}
	}
	c.reached = reached
	for _, id := range w.beside {
		q.need(id)
	}
	return w, nil
}

// follow marks all objects that tips lead to.
func (w *walk) follow(reached []bool, tips []gitwire.ObjectID) error {
	queue, seen := slices.Clone(tips), make(map[gitwire.ObjectID]bool, len(tips))
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		s, ok := sumOf(id)
		if !ok {
			return errWalk
		}
		at, here := w.c.find(s)
		if _, lacks := slices.BinarySearchFunc(w.absent, s, sum.compare); !here || !lacks {
			w.beside = append(w.beside, id)
			continue
		}
		reached[at] = true
		kind, err := w.pack.kind(at)
		if err != nil {
			return err
		}
		if kind == blobObject {
			continue
		}
		text, err := w.pack.content(at)
		if err == nil {
			queue, err = named(queue, kind, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// peel notes the type of a tip, and the object at the end of a tag.
func (w *walk) peel(tip gitwire.ObjectID) error {
	for id := tip; ; {
		s, _ := sumOf(id)
		at, here := w.c.find(s)
		if !here {
			return errWalk
		}
		kind, err := w.pack.kind(at)
		if err != nil {
			return err
		}
		if id == tip {
			w.kinds[tip] = kind
		}
		if kind != tagObject {
			if id != tip {
				w.peeled[tip] = id
			}
			return nil
		}
		text, err := w.pack.content(at)
		if err != nil {
			return err
		}
		to, kind, err := tagged(text)
		if err != nil {
			return err
		}
		if kind != tagObject {
			w.peeled[tip] = to
			return nil
		}
		id = to
	}
}

// describe finds the same of the tips as quarantine.describe, without a process.
func (w *walk) describe(p Proving) (map[gitwire.ObjectID]gitwire.ObjectID, error) {
	for _, id := range p.Commits {
		if kind := w.kinds[id]; kind != commitObject {
			return nil, notACommit(id, kind.String())
		}
	}
	return w.peeled, nil
}

// named appends the ids that a commit, a tree or a tag names. It fails with errWalk for an object that is not written as git writes it.
func named(to []gitwire.ObjectID, kind objectType, text []byte) ([]gitwire.ObjectID, error) {
	switch kind {
	case treeObject:
		return entries(to, text)
	case tagObject:
		id, _, err := tagged(text)
		return append(to, id), err
	}
	id, rest, err := line(text, "tree ")
	for to = append(to, id); err == nil && bytes.HasPrefix(rest, []byte("parent ")); to = append(to, id) {
		id, rest, err = line(rest, "parent ")
	}
	return to, err
}

// line reads a line of a name and an id.
func line(text []byte, name string) (id gitwire.ObjectID, rest []byte, err error) {
	text, ok := bytes.CutPrefix(text, []byte(name))
	value, rest, end := bytes.Cut(text, []byte("\n"))
	if id, err = gitwire.ParseObjectID(value); !ok || !end || err != nil {
		return id, nil, errWalk
	}
	return id, rest, nil
}

// tagged returns the object that a tag names, and the type that the tag gives it.
func tagged(text []byte) (gitwire.ObjectID, objectType, error) {
	id, rest, err := line(text, "object ")
	kind, _, end := bytes.Cut(rest, []byte("\n"))
	name, ok := bytes.CutPrefix(kind, []byte("type "))
	for t := commitObject; t <= tagObject; t++ {
		if err == nil && ok && end && t.String() == string(name) {
			return id, t, nil
		}
	}
	return id, 0, errWalk
}

// entries appends the ids that a tree names, but for commits of submodules.
func entries(to []gitwire.ObjectID, tree []byte) ([]gitwire.ObjectID, error) {
	for len(tree) > 0 {
		mode, rest, ok := bytes.Cut(tree, []byte(" "))
		_, rest, end := bytes.Cut(rest, []byte{0})
		if !ok || !end || len(rest) < len(sum{}) {
			return nil, errWalk
		}
		if string(mode) != "160000" {
			to = append(to, sum(rest[:len(sum{})]).id())
		}
		tree = rest[len(sum{}):]
	}
	return to, nil
}

// readPack reads the pack and where its objects are.
func (q *quarantine) readPack(c *content) (*packFile, error) {
	f, err := q.d.dir.root.Open(q.file(".pack"))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, walkBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(raw) > walkBytes {
		return nil, errWalk
	}
	x, err := q.d.dir.openIndex(q.file(".idx"))
	if err != nil {
		return nil, err
	}
	places, err := x.places()
	if err = errors.Join(err, x.file.Close()); err != nil {
		return nil, err
	}
	if len(places) != len(c.all) {
		return nil, fmt.Errorf("the index of pack %s has become another one", q.pack)
	}
	return newPackFile(raw, c, places), nil
}

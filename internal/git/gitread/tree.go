package gitread

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	mostTree  = 4 << 20 // bytes of a directory that is read: about 100,000 entries
	mostDepth = 100
	mostPath  = 4096
)

// The modes of entries, as git writes them.
const (
	ModeDir       = "40000"
	ModeFile      = "100644"
	ModeProgram   = "100755"
	ModeLink      = "120000"
	ModeSubmodule = "160000"
)

// Entry is an entry of a directory.
type Entry struct {
	Name string
	Mode string
	ID   gitwire.ObjectID
	Size int64 // of a file, in bytes; below 0 where nobody asked
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Mode == ModeDir }

// IsFile reports whether the entry is a file, and no link.
func (e Entry) IsFile() bool { return strings.HasPrefix(e.Mode, "100") }

// parseTree reads what git keeps of a directory: directories and submodules first, each kind in the order of bytes.
func parseTree(raw []byte) (all []Entry, err error) {
	for len(raw) > 0 {
		mode, rest, ok := bytes.Cut(raw, []byte(" "))
		name, rest, end := bytes.Cut(rest, []byte{0})
		if !ok || !end || len(rest) < 20 {
			return nil, errors.New("a directory cannot be read")
		}
		all = append(all, Entry{Name: string(name), Mode: string(mode), ID: gitwire.ObjectIDOf([20]byte(rest)), Size: -1})
		raw = rest[20:]
	}
	first := func(e Entry) int {
		if e.IsDir() || e.Mode == ModeSubmodule {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Or(first(a)-first(b), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}

// Opening says what Open reads of what it finds. The zero value reads no contents.
type Opening struct {
	First, Most int   // of a directory: Open tells the sizes of so many entries, from First on
	Bytes       int64 // of a file: Open reads its contents if it has at most so many
	// Also names one of the files and links of a directory, "" for none, and Open reads it too. Looking.Choose says what becomes of links.
	Also func(names []string) string
}

// Place is what stands at a path of a commit.
type Place struct {
	Commit  *Commit
	Path    string  // "" is the uppermost directory
	Entry           // what stands there; of the uppermost directory without a name
	Entries []Entry // of a directory
	Data    []byte  // of a file that was read, and of a link where it leads; nil where it is too large
	Also    File    // see Opening
}

// File is a file that was read beside a directory, under the name that it has there. Data is nil where it is too large, and Name is "" where there is
// none.
type File struct {
	Entry
	Data []byte
}

// Open returns what stands at a path of a commit.
func (r *Reader) Open(ctx context.Context, v Visit, commit gitwire.ObjectID, path string, o Opening) (p *Place, err error) {
	err = r.ask(ctx, v, func(a *asking) error {
		p, err = a.open(commit, path, o)
		return err
	})
	return p, err
}

func (a *asking) open(commit gitwire.ObjectID, path string, o Opening) (*Place, error) {
	c, err := a.commit(commit)
	if err != nil {
		return nil, err
	}
	p := &Place{Commit: c, Path: path}
	if p.Entry, err = a.find(Entry{Mode: ModeDir, ID: c.Tree, Size: -1}, path); err != nil {
		return nil, err
	}
	switch {
	case p.IsDir():
		err = a.directory(p, o)
	case p.Mode == ModeSubmodule:
	default:
		most := o.Bytes
		if p.Mode == ModeLink {
			most = mostPath
		}
		p.Size, p.Data, err = a.file(p.ID, most)
	}
	return p, err
}

// find follows a path from a directory to what stands there.
func (a *asking) find(at Entry, path string) (Entry, error) {
	names := split(path)
	if len(path) > mostPath || len(names) > mostDepth {
		return at, ErrNothing
	}
	for _, name := range names {
		if !at.IsDir() {
			return at, ErrNothing
		}
		all, err := a.entries(at.ID)
		if err != nil {
			return at, err
		}
		i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
		if i < 0 {
			return at, ErrNothing
		}
		at = all[i]
	}
	return at, nil
}

// entries returns what is in a directory, as parseTree does. All who ask share it.
func (a *asking) entries(tree gitwire.ObjectID) (all []Entry, err error) {
	k := a.key("entries", tree)
	if x, ok := a.r.get(k); ok {
		return x.value.([]Entry), nil
	}
	o, err := a.one(mostTree, tree, "tree")
	if err == nil {
		all, err = parseTree(o.Contents)
	}
	if err == nil {
		a.r.put(k, kept{value: all}, 3*len(o.Contents))
	}
	return all, err
}

// directory reads the entries of a directory, and what else o says.
func (a *asking) directory(p *Place, o Opening) (err error) {
	all, err := a.entries(p.ID)
	if err != nil {
		return err
	}
	p.Entries = slices.Clone(all) // some get their sizes
	shown := p.Entries[min(o.First, len(p.Entries)):min(o.First+o.Most, len(p.Entries))]
	if err := a.sizes(shown); err != nil {
		return err
	}
	if o.Also == nil {
		return nil
	}
	links := 0
	name, file, err := a.chosen(p.Commit, p.Path, all, o.Also, &links)
	if err != nil || name == "" {
		return err
	}
	p.Also.Entry, p.Also.Name = file, name
	p.Also.Size, p.Also.Data, err = a.file(file.ID, o.Bytes)
	return err
}

// sizes tells the sizes of the files among entries.
func (a *asking) sizes(entries []Entry) error {
	var ids []gitwire.ObjectID
	var at []*Entry
	for i := range entries {
		if e := &entries[i]; e.IsFile() {
			ids, at = append(ids, e.ID), append(at, e)
		}
	}
	all, err := a.stat(ids)
	for i, o := range all {
		if o.Kind == "blob" {
			at[i].Size = o.Size
		}
	}
	return err
}

// file returns how many bytes a file has, and the file if it has at most so many.
func (a *asking) file(id gitwire.ObjectID, most int64) (size int64, data []byte, err error) {
	all, err := a.stat([]gitwire.ObjectID{id})
	switch {
	case err != nil:
		return 0, nil, err
	case all[0].Kind != "blob":
		return 0, nil, ErrNothing
	case all[0].Size > most:
		return all[0].Size, nil, nil
	}
	var o gitrepo.Object
	o, err = a.one(most, id, "blob")
	return all[0].Size, o.Contents, err
}

package refdb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Dir names the directory of a repository; the zero Dir names none.
type Dir [16]byte

// IsZero reports whether d names no directory.
func (d Dir) IsZero() bool { return d == Dir{} }

// Repository is what a row of the store keeps of one repository.
type Repository struct {
	Of     nip34.Address
	Dir    Dir                                   // zero before the first data came
	Refs   refs.Projection                       // the refs that it serves
	Peeled map[gitwire.ObjectID]gitwire.ObjectID // the objects to which annotated tags lead, as far as the ledger knows
	Bytes  int64                                 // how much it takes on disk, about
	Moved  int64                                 // unix time at which the refs changed last
	Gone   int64                                 // unix time since which its announcement is not served; 0 while it is
}

// Rows reads rows of the store. A batch is one, and a view of what is durable.
type Rows interface {
	Row(name string) ([]byte, error)
}

// Prefixes of the names of rows.
const (
	Prefix    = "repository/" // rows with a Repository
	DuePrefix = "due/"        // rows of repositories with a change of which the node that writes has still something to do

	// LacksPrefix is told with the identifiers of repositories that may lack something else from the commit on. There are no such rows.
	LacksPrefix = "lacks/"
)

// RowName returns the name of a repository's row.
func RowName(of nip34.Address) string { return named(Prefix, of) }

// DueName returns the name of the row that is there until the refs of a repository are in its files and copied to the repositories that follow it.
func DueName(of nip34.Address) string { return named(DuePrefix, of) }

// named returns the name of a row about a repository.
func named(prefix string, of nip34.Address) string {
	sum := sha256.Sum256([]byte(of.String()))
	return string(hex.AppendEncode(append(make([]byte, 0, 128), prefix...), sum[:]))
}

// Read reads the row of a repository. Without a row, the Repository has its address alone.
func Read(rows Rows, of nip34.Address) (Repository, error) {
	b, err := rows.Row(RowName(of))
	if err != nil {
		return Repository{}, fmt.Errorf("repository %s: %w", of, err)
	}
	if b == nil {
		return Repository{Of: of}, nil
	}
	r, err := Parse(b)
	if err != nil {
		return Repository{}, err
	}
	if r.Of != of {
		return Repository{}, fmt.Errorf("repository %s: its row is that of %s", of, r.Of)
	}
	return r, nil
}

// Shown returns the refs as they stand in the repository's files and on the wire.
func (r Repository) Shown() *gitwire.Refs { return r.shownOf(r.Refs.All()) }

// ShownNewest returns the refs as Shown does, but at most most refs of pull requests: the newest.
func (r Repository) ShownNewest(most int) *gitwire.Refs { return r.shownOf(r.Refs.Some(most)) }

func (r Repository) shownOf(all refs.Set) *gitwire.Refs {
	out := &gitwire.Refs{Head: r.Refs.Head, List: make([]gitwire.Ref, 0, len(all))}
	for _, x := range all {
		out.List = append(out.List, gitwire.Ref{Name: x.Name, ID: x.ID, Peeled: r.Peeled[x.ID]})
	}
	return out
}

// Write puts the row of a repository into a batch. Where the refs have moved it also puts the row that says that the files are due.
func (r Repository) Write(b *store.Batch, moved bool) error {
	if err := b.SetRow(RowName(r.Of), r.Append(nil)); err != nil {
		return err
	}
	if moved && !r.Dir.IsZero() {
		return b.SetRow(DueName(r.Of), []byte(r.Of.String()))
	}
	return nil
}

// Written notes that the files of a repository are as its refs of that generation. The files are due no more, unless the refs have moved on.
func (l *Ledger) Written(t Turn, of nip34.Address, generation uint64) error {
	row, err := t.Row(RowName(of))
	if err != nil {
		return err
	}
	if row != nil {
		now, _, err := Head(row)
		if err != nil || now > generation {
			return err
		}
	}
	return t.SetRow(DueName(of), nil)
}

// Peel notes the objects to which the annotated tags of a repository lead. That makes a new generation of its refs.
func (l *Ledger) Peel(t Turn, of nip34.Address, peeled map[gitwire.ObjectID]gitwire.ObjectID) (Repository, error) {
	r, err := Read(t, of)
	if err != nil {
		return r, err
	}
	known := maps.Clone(r.Peeled)
	if known == nil {
		known = map[gitwire.ObjectID]gitwire.ObjectID{}
	}
	maps.Copy(known, peeled)
	r.Peeled = known
	r.Refs.Generation++
	return r, l.inBatch.write(t, r, true)
}

// Resized notes how many bytes a repository takes on disk now.
func (l *Ledger) Resized(t Turn, of nip34.Address, bytes int64) error {
	r, err := Read(t, of)
	if err != nil || r.Dir.IsZero() || r.Bytes == bytes {
		return err
	}
	r.Bytes = bytes
	return l.inBatch.write(t, r, false)
}

// Remove forgets a repository whose announcement has not been served since before that unix time, and returns what the row kept. It returns
// false for a repository that stays.
func (l *Ledger) Remove(t Turn, of nip34.Address, before int64) (Repository, bool, error) {
	r, err := Read(t, of)
	if err != nil || r.Gone == 0 || r.Gone >= before {
		return r, false, err
	}
	if err := t.SetRow(RowName(of), nil); err != nil {
		return r, false, err
	}
	if err := t.SetRow(awaitedName(of), nil); err != nil {
		return r, false, err
	}
	if err := setAside(t, r); err != nil {
		return r, false, err
	}
	return r, true, t.SetRow(DueName(of), nil)
}

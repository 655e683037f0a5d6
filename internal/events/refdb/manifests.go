package refdb

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// addPacks adds packs to the manifest of a repository, whose objects are in the object store, and counts the repository's bytes by it.
func addPacks(t Turn, r *Repository, packs []Pack) error {
	m, err := ReadManifest(t, r.Dir)
	if err != nil {
		return err
	}
	if err := taken(t, m, packs); err != nil {
		return err
	}
	if m, err = m.with(packs); err != nil {
		return err
	}
	r.Bytes = m.Bytes()
	return t.SetRow(ManifestName(r.Dir), m.Append(nil))
}

// Adopt gives a repository a manifest that has none, with packs that its directory has.
func Adopt(b *store.Batch, r Repository, packs []Pack) error {
	m, err := Manifest{}.with(packs)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Of, err)
	}
	r.Bytes = m.Bytes()
	if err := b.SetRow(ManifestName(r.Dir), m.Append(nil)); err != nil {
		return err
	}
	return r.Write(b, false)
}

// taken fails with ErrTrashed where a manifest may not take one of the packs that it does not have yet.
func taken(t Turn, m Manifest, packs []Pack) error {
	for _, p := range packs {
		if has, ok := m.Find(p.Name); ok && has.Object() == p.Object() {
			continue
		}
		row, err := t.Row(TrashName(p.Object()))
		if err != nil {
			return err
		}
		if row != nil {
			return fmt.Errorf("%s: %w", p.Object(), ErrTrashed)
		}
	}
	return nil
}

// Combined puts fresh packs into the manifest of a repository in the place of those that they were made of, and returns what the repository was
// before and is then. It does nothing and returns false where the repository has another directory, or one of the old packs no more.
func (l *Ledger) Combined(t Turn, of nip34.Address, dir Dir, old []PackName, fresh []Pack) (before, after Repository, done bool, err error) {
	r, err := Read(t, of)
	if err != nil || r.Dir != dir {
		return r, r, false, err
	}
	m, err := ReadManifest(t, dir)
	if err != nil {
		return r, r, false, err
	}
	for _, n := range old {
		if _, ok := m.Find(n); !ok {
			return r, r, false, nil
		}
	}
	if err := taken(t, m, fresh); err != nil {
		return r, r, false, err
	}
	now, err := m.without(old).with(fresh)
	if err != nil {
		return r, r, false, err
	}
	after = r
	after.Bytes = now.Bytes()
	if err := t.SetRow(ManifestName(dir), now.Append(nil)); err != nil {
		return r, r, false, err
	}
	return r, after, true, l.inBatch.write(t, after, false)
}

// setAside keeps the manifest of a repository that is removed.
func setAside(t Turn, r Repository) error {
	row, err := t.Row(ManifestName(r.Dir))
	if err != nil || row == nil {
		return err
	}
	since := binary.BigEndian.AppendUint64(nil, uint64(t.Now.Unix()))
	if err := t.SetRow(RemovedName(r.Dir), slices.Concat(since, row)); err != nil {
		return err
	}
	return t.SetRow(ManifestName(r.Dir), nil)
}

// ParseRemoved reads the row of a repository that was removed: when, and which packs it had.
func ParseRemoved(row []byte) (at time.Time, m Manifest, err error) {
	p := parser{b: row}
	since := p.take(8)
	if p.err != nil {
		return at, nil, fmt.Errorf("%w: %w", errManifest, p.err)
	}
	m, err = ParseManifest(p.b)
	return time.Unix(int64(binary.BigEndian.Uint64(since)), 0), m, err
}

// Trash says that no manifest may take objects any more, by the beginnings of their names.
func (l *Ledger) Trash(t Turn, objects []string) error {
	for _, name := range objects {
		had, err := t.Row(TrashName(name))
		if err == nil && had == nil {
			err = t.SetRow(TrashName(name), binary.BigEndian.AppendUint64(nil, uint64(t.Now.Unix())))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ParseTrash reads since when no manifest may take objects.
func ParseTrash(row []byte) (time.Time, error) {
	if len(row) != 8 {
		return time.Time{}, fmt.Errorf("%w: a row of trash has %d bytes", errManifest, len(row))
	}
	return time.Unix(int64(binary.BigEndian.Uint64(row)), 0), nil
}

// Forget drops rows about objects that are gone, or that have to stay, and of repositories that were removed long ago.
func (l *Ledger) Forget(t Turn, rows []string) error {
	for _, name := range rows {
		if err := t.SetRow(name, nil); err != nil {
			return err
		}
	}
	return nil
}

package hosting

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
)

// An object that no manifest has is put into the trash by a commit, from which on no manifest may take it, and goes a day later. So nobody decides in
// one moment about an object that another one has just put. The manifest of a removed repository counts for 30 days.
const (
	compareEvery = 24 * time.Hour      // between two looks at all objects of packs
	compareFirst = time.Hour           // from the start until the first one
	inTrash      = 24 * time.Hour      // for which an object that no manifest has stays
	removedFor   = 30 * 24 * time.Hour // for which the packs of a removed repository stay
	trashAtOnce  = 1000                // objects in one commit
	trashedMost  = 100_000             // objects that one look puts into the trash, or removes; the next one goes on
)

// nameSet has names of objects by their hashes, eight bytes each: there are as many as packs. Where two names share a hash, which hardly ever happens and
// is another pair at each look, an object stays a day longer.
type nameSet struct {
	seed   maphash.Seed
	hashes []uint64
}

func newNameSet() *nameSet { return &nameSet{seed: maphash.MakeSeed()} }

func (s *nameSet) add(name string) { s.hashes = append(s.hashes, maphash.String(s.seed, name)) }

// has reports whether a name is there. The caller has called done after the last add.
func (s *nameSet) has(name string) bool {
	_, is := slices.BinarySearch(s.hashes, maphash.String(s.seed, name))
	return is
}

func (s *nameSet) done() { slices.Sort(s.hashes) }

// comparison holds the objects of packs against the manifests.
type comparison struct {
	kept   *Kept // nil where the disk alone has packs
	store  *store.Store
	door   *ingest.Door
	ledger *refdb.Ledger
	now    func() time.Time
}

// compare brings the objects of packs in line with the manifests.
func (x comparison) compare(ctx context.Context) error {
	if x.kept == nil {
		return nil
	}
	names, err := x.unnamed(ctx)
	if err != nil {
		return err
	}
	for len(names) > 0 {
		some := names[:min(len(names), trashAtOnce)]
		names = names[len(some):]
		err := x.door.Exclusively(ctx, "", func(t *ingest.Exclusive) error { return x.ledger.Trash(t.Turn, some) })
		if err != nil {
			return err
		}
	}
	return x.empty(ctx)
}

// unnamed returns the objects that no manifest has, and that nobody has just put.
func (x comparison) unnamed(ctx context.Context) (out []string, err error) {
	before, _, err := x.named() // so that few are left to compare once more
	if err != nil {
		return nil, err
	}
	var all []string
	for after := ""; ; {
		var names []string
		if names, after, err = x.kept.Depot.List(ctx, after); err != nil {
			return nil, err
		}
		for _, name := range names {
			if !before.has(name) && !x.kept.Depot.Held(name) && len(all) < trashedMost { // asked before the manifests are read: it is in one by then, or never will be
				all = append(all, name)
			}
		}
		if after == "" || len(all) == trashedMost {
			break
		}
	}
	named, _, err := x.named()
	for _, name := range all {
		if err == nil && !named.has(name) && (len(out) == 0 || out[len(out)-1] != name) {
			out = append(out, name)
		}
	}
	return out, err
}

// named returns the objects that manifests and uploads have, and the rows of repositories that were removed long ago.
func (x comparison) named() (named *nameSet, late []string, err error) {
	named = newNameSet()
	defer named.done()
	v := x.store.View()
	defer v.Close()
	note := func(m refdb.Manifest) {
		for _, p := range m {
			named.add(p.Object())
		}
	}
	err = v.EachRow(refdb.ManifestPrefix, "", func(_ string, row []byte) (bool, error) {
		m, err := refdb.ParseManifest(row)
		note(m)
		return true, err
	})
	if err != nil {
		return nil, nil, err
	}
	err = v.EachRow(refdb.UploadPrefix, "", func(name string, row []byte) (bool, error) {
		u, err := refdb.ParseUpload(name, row)
		note(u.Packs)
		return true, err
	})
	if err != nil {
		return nil, nil, err
	}
	err = v.EachRow(refdb.RemovedPrefix, "", func(name string, row []byte) (bool, error) {
		at, m, err := refdb.ParseRemoved(row)
		if note(m); err == nil && x.now().Sub(at) >= removedFor {
			late = append(late, name)
		}
		return true, err
	})
	return named, late, err
}

// empty removes the objects that have been in the trash for a day, if no manifest has them: none takes one that is in the trash, so none will.
func (x comparison) empty(ctx context.Context) error {
	var due []string
	v := x.store.View()
	err := v.EachRow(refdb.TrashPrefix, "", func(name string, row []byte) (bool, error) {
		at, err := refdb.ParseTrash(row)
		if err == nil && x.now().Sub(at) >= inTrash {
			due = append(due, name)
		}
		return len(due) < trashedMost, err
	})
	v.Close()
	if err != nil {
		return err
	}
	named, forget, err := x.named() // what it reads is later than the rows of the trash
	if err != nil {
		return err
	}
	for _, row := range due {
		object := refdb.ObjectPrefix + row[len(refdb.TrashPrefix):]
		if !named.has(object) {
			err = errors.Join(err, x.kept.Depot.Remove(ctx, object))
		}
		if err != nil {
			return err
		}
		forget = append(forget, row)
	}
	for len(forget) > 0 {
		some := forget[:min(len(forget), trashAtOnce)]
		forget = forget[len(some):]
		err := x.door.Exclusively(ctx, "", func(t *ingest.Exclusive) error { return x.ledger.Forget(t.Turn, some) })
		if err != nil {
			return err
		}
	}
	return nil
}

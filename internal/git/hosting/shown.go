package hosting

import (
	"bytes"
	"sync"

	"github.com/graspd/graspd/internal/base/lru"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// shownKept bounds the refs in memory, of all repositories together.
const shownKept = 200_000

// shown keeps in memory what clients see of repositories. Where room is short, the one asked for longest ago goes first.
type shown struct {
	mu   sync.Mutex
	kept *lru.Cache[nip34.Address, githttp.Repository]
}

func (s *shown) init() { s.kept = lru.New[nip34.Address, githttp.Repository](shownKept) }

// get returns what clients see of a repository, if memory has it for that generation and directory.
func (s *shown) get(of nip34.Address, generation uint64, dir string) (githttp.Repository, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.kept.Get(of)
	if !ok || r.Generation != generation || r.Dir != dir {
		return githttp.Repository{}, false
	}
	return r, true
}

func (s *shown) put(of nip34.Address, r githttp.Repository) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Put(of, r, cost(r))
}

func cost(r githttp.Repository) int {
	n := 4 + len(r.Refs.List)
	if r.Newest != nil {
		n += len(r.Newest.List)
	}
	return n
}

var nothing = githttp.Repository{Refs: &gitwire.Refs{}}

// Find looks a repository up. It returns an empty one where the announcement waits, or where no data has come yet.
func (r *Reader) Find(of nip34.Address) (githttp.Repository, bool, error) {
	v := r.cfg.Store.View()
	defer v.Close()
	if grasp.IsContributed(of) {
		if !r.cfg.Contributors {
			return nothing, false, nil
		}
		x, err := r.show(v, of)
		return x, true, err
	}
	if ok, err := v.HasAddress(of.String()); err != nil || !ok {
		if err == nil {
			_, ok, err = v.WaitingAt(of.String())
		}
		return nothing, ok, err
	}
	x, err := r.show(v, of)
	return x, true, err
}

// show returns what clients see of a repository. It reads only the beginning of the row where memory has the rest, as rows may be long.
func (r *Reader) show(v *store.View, of nip34.Address) (x githttp.Repository, err error) {
	err = v.ReadRow(refdb.RowName(of), func(row []byte) (err error) {
		x, err = r.showRow(row, of)
		return err
	})
	return x, err
}

func (r *Reader) showRow(row []byte, of nip34.Address) (githttp.Repository, error) {
	if row == nil {
		return nothing, nil
	}
	generation, dir, err := refdb.Head(row)
	if err != nil || dir.IsZero() {
		return nothing, err
	}
	name := gitrepo.ID(dir).String()
	if known, ok := r.shown.get(of, generation, name); ok {
		return known, nil
	}
	x, err := refdb.Parse(bytes.Clone(row))
	if err != nil {
		return nothing, err
	}
	out := githttp.Repository{Dir: name, Generation: generation, Refs: x.Shown()}
	if len(x.Refs.PullRequests) > githttp.ShownByEvent {
		out.Newest = x.ShownNewest(githttp.ShownByEvent)
	}
	r.shown.put(of, out)
	return out, nil
}

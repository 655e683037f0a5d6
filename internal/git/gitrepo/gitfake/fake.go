package gitfake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Fake keeps repositories in memory. Make one with New; any number of goroutines may use it.
type Fake struct {
	// Fail, if it is set before the Fake is used, is asked before each method of the Fake and its quarantines, by its name, and
	// makes it fail. It may wait, too.
	Fail func(method string, repo gitrepo.ID) error

	mu    sync.Mutex // guards what follows
	repos map[gitrepo.ID]*repository
	calls map[string]int
	open  int // quarantines
}

type repository struct {
	objects objects
	refs    gitwire.Refs
	of      uint64 // the generation of refs
	packs   int64
	clones  int // packs made since something came in
}

var _ gitrepo.Repositories = (*Fake)(nil)

// New makes one without repositories.
func New() *Fake { return &Fake{repos: map[gitrepo.ID]*repository{}, calls: map[string]int{}} }

// call is the beginning of each method.
func (f *Fake) call(method string, repo gitrepo.ID) error {
	f.mu.Lock()
	f.calls[method]++
	f.mu.Unlock()
	if f.Fail != nil {
		return f.Fail(method, repo)
	}
	return nil
}

// Calls is how often a method was called.
func (f *Fake) Calls(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// Open is how many quarantines there are.
func (f *Fake) Open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// Refs are those that were projected last; nil without a repository.
func (f *Fake) Refs(repo gitrepo.ID) *gitwire.Refs {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	if !ok {
		return nil
	}
	refs := r.refs
	return &refs
}

// here are the objects of a repository.
func (f *Fake) here(repo gitrepo.ID) objects {
	if r, ok := f.repos[repo]; ok {
		return r.objects
	}
	return nil
}

func (f *Fake) Missing(repo gitrepo.ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	if err := f.call("Missing", repo); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.absent(repo, ids), nil
}

// Lacks is Missing, as nothing goes here.
func (f *Fake) Lacks(repo gitrepo.ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	if err := f.call("Lacks", repo); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.absent(repo, ids), nil
}

func (f *Fake) Unreached(_ context.Context, repo gitrepo.ID, ids []gitwire.ObjectID, _ string) (unreached []gitwire.ObjectID, err error) {
	if err := f.call("Unreached", repo); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	if !ok {
		return nil, gitrepo.ErrNoRepository
	}
	var tips []gitwire.ObjectID
	for _, ref := range r.refs.List {
		tips = append(tips, ref.ID)
	}
	reached := r.objects.closure(tips, nil)
	for _, id := range ids {
		if _, ok := reached[id]; !ok && r.objects[id].kind != "blob" {
			unreached = append(unreached, id)
		}
	}
	return unreached, nil
}

func (f *Fake) absent(repo gitrepo.ID, ids []gitwire.ObjectID) (missing []gitwire.ObjectID) {
	for _, id := range ids {
		if _, ok := f.here(repo)[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

func (f *Fake) Prepare(repo gitrepo.ID) (unneeded func() error, err error) {
	if err := f.call("Prepare", repo); err != nil {
		return nil, err
	}
	return func() error {
		if err := f.call("Unneeded", repo); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.repos, repo)
		return nil
	}, nil
}

func (f *Fake) Admit(from gitrepo.Quarantine, repo gitrepo.ID) error {
	if err := f.call("Admit", repo); err != nil {
		return err
	}
	q, ok := from.(*quarantine)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !ok || q.f != f || !q.proven || q.closed || repo.IsZero() {
		return errors.New("admitting: what is proven in a quarantine can be admitted into a repository, and nothing else")
	}
	if lacks := f.absent(repo, q.needs); len(lacks) > 0 {
		return fmt.Errorf("admitting: %w", &gitrepo.MissingError{IDs: lacks[:min(10, len(lacks))]})
	}
	if len(q.objects) == 0 {
		return nil
	}
	r, ok := f.repos[repo]
	if !ok {
		r = &repository{objects: objects{}}
		f.repos[repo] = r
	}
	fresh := false
	for id, o := range q.objects {
		if _, ok := r.objects[id]; !ok {
			r.objects[id], fresh = o, true
		}
	}
	if fresh {
		r.packs++
		r.clones = 0
	}
	return nil
}

func (f *Fake) Project(repo gitrepo.ID, generation uint64, refs *gitwire.Refs) error {
	if err := f.call("Project", repo); err != nil {
		return err
	}
	if err := gitrepo.CheckRefs(refs); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	switch {
	case ok:
		r.refs, r.of = gitwire.Refs{Head: refs.Head, List: slices.Clone(refs.List)}, generation
	case len(refs.List) > 0:
		return gitrepo.ErrNoRepository
	}
	return nil
}

func (f *Fake) Generation(repo gitrepo.ID) (uint64, error) {
	if err := f.call("Generation", repo); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r, ok := f.repos[repo]; ok {
		return r.of, nil
	}
	return 0, nil
}

// Pack writes a pack in the form of [History.Pack].
func (f *Fake) Pack(_ context.Context, repo gitrepo.ID, fetch *gitwire.Fetch, _ string, out io.Writer) error {
	return f.serve("Pack", repo, fetch.Tips(), nil, out)
}

// Upload writes a pack in the form of [History.Pack], and nothing else of what upload-pack answers.
func (f *Fake) Upload(_ context.Context, repo gitrepo.ID, q gitwire.Request, _ string, out io.Writer) error {
	if q.Fetch == nil {
		return errors.New("the request is no fetch")
	}
	return f.serve("Upload", repo, q.Fetch.Tips(), q.Fetch.Haves, out)
}

func (f *Fake) serve(method string, repo gitrepo.ID, tips, haves []gitwire.ObjectID, out io.Writer) error {
	if err := f.call(method, repo); err != nil {
		return err
	}
	pack, err := f.packed(repo, tips, haves)
	if err == nil {
		_, err = out.Write(pack)
	}
	return err
}

func (f *Fake) packed(repo gitrepo.ID, tips, haves []gitwire.ObjectID) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	if !ok {
		return nil, gitrepo.ErrNoRepository
	}
	r.clones++
	var lacks error
	has := r.objects.closure(haves, nil)
	var ids []gitwire.ObjectID
	for id := range r.objects.closure(tips, func(id gitwire.ObjectID) { lacks = fmt.Errorf("there is no %s", id) }) {
		if _, ok := has[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, gitwire.ObjectID.Compare)
	return r.objects.pack(ids), lacks
}

// Archive writes what Pack does, and the name.
func (f *Fake) Archive(_ context.Context, repo gitrepo.ID, commit gitwire.ObjectID, name, _ string, out io.Writer) error {
	err := f.serve("Archive", repo, []gitwire.ObjectID{commit}, nil, out)
	if err == nil {
		_, err = io.WriteString(out, name)
	}
	return err
}

func (f *Fake) Sizes(_ context.Context, repo gitrepo.ID, ids []gitwire.ObjectID, _ string) ([]int64, error) {
	if err := f.call("Sizes", repo); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	if !ok {
		return nil, gitrepo.ErrNoRepository
	}
	sizes := make([]int64, len(ids))
	for i, id := range ids {
		if o, ok := r.objects[id]; ok {
			sizes[i] = o.size()
		} else {
			sizes[i] = -1
		}
	}
	return sizes, nil
}

func (f *Fake) Size(repo gitrepo.ID) (bytes, packs int64, err error) {
	if err := f.call("Size", repo); err != nil {
		return 0, 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	if !ok {
		return 0, 0, nil
	}
	for _, o := range r.objects {
		bytes += o.size()
	}
	return bytes, r.packs, nil
}

package gitread

import (
	"context"
	"math"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// asking asks for objects: what is kept, and then git, whose process starts with the first question.
type asking struct {
	r   *Reader
	v   Visit
	git *gitrepo.Asking
}

// ask has do ask for objects.
func (r *Reader) ask(ctx context.Context, v Visit, do func(*asking) error) error {
	f, ended := r.pay(v)
	defer ended()
	return costly(r.disk.Ask(ctx, v.Repo, f, func(git *gitrepo.Asking) error {
		return do(&asking{r, v, git})
	}))
}

// stat returns what objects are, in the order of the ids.
func (a *asking) stat(ids []gitwire.ObjectID) ([]gitrepo.Object, error) {
	return a.all("stat", math.MaxInt64, ids, func(lacking []gitwire.ObjectID) ([]gitrepo.Object, error) { return a.git.Stat(lacking...) })
}

// read returns objects in the order of the ids, with the contents of those that have at most so many bytes.
func (a *asking) read(most int64, ids ...gitwire.ObjectID) ([]gitrepo.Object, error) {
	return a.all("object", most, ids, func(lacking []gitwire.ObjectID) ([]gitrepo.Object, error) { return a.git.Read(most, lacking...) })
}

// one is read for an object of one kind: without it, or where it is too large, it fails.
func (a *asking) one(most int64, id gitwire.ObjectID, kind string) (gitrepo.Object, error) {
	all, err := a.read(most, id)
	switch {
	case err != nil:
		return gitrepo.Object{}, err
	case all[0].Kind != kind:
		return gitrepo.Object{}, ErrNothing
	case all[0].Contents == nil:
		return gitrepo.Object{}, ErrCostly
	}
	return all[0], nil
}

func (a *asking) key(what string, id gitwire.ObjectID) key {
	return key{repo: a.v.Repo, what: what, a: id}
}

// all returns what is kept of objects, and asks for the others. Of an object that is too large it keeps how large that is.
func (a *asking) all(what string, most int64, ids []gitwire.ObjectID, ask func([]gitwire.ObjectID) ([]gitrepo.Object, error)) ([]gitrepo.Object, error) {
	objects := make([]gitrepo.Object, len(ids))
	var lacking []gitwire.ObjectID
	var places []int
	for i, id := range ids {
		x, ok := a.r.get(a.key(what, id))
		o, _ := x.value.(gitrepo.Object)
		if objects[i] = o; !ok || what == "object" && o.Contents == nil && o.Size <= most {
			lacking, places = append(lacking, id), append(places, i)
		}
	}
	if len(lacking) == 0 {
		return objects, nil
	}
	found, err := ask(lacking)
	if err != nil {
		return nil, err
	}
	for i, o := range found {
		objects[places[i]] = o
		if o.Kind != "" && len(o.Contents) <= mostObject {
			a.r.put(a.key(what, lacking[i]), kept{value: o}, len(o.Contents))
		}
	}
	return objects, nil
}

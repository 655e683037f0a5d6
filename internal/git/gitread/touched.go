package gitread

import (
	"context"
	"slices"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	touchedWalk  = 200      // commits along first parents
	touchedTree  = 64 << 10 // bytes of a directory whose history is cheap enough
	touchedDepth = 8
)

// Touched returns for the entries of a directory the last commits that changed them, among the newest of those along first parents. What changed
// before these, and all of a large directory, is left out.
func (r *Reader) Touched(ctx context.Context, v Visit, commit gitwire.ObjectID, path string) (map[string]*Commit, error) {
	return once(ctx, r, key{repo: v.Repo, what: "touched " + path, a: commit}, func() (changes, error) {
		found := changes{}
		main, err := r.list(ctx, v, commit, gitwire.ObjectID{}, touchedWalk, true)
		if err == nil {
			err = r.ask(ctx, v, func(a *asking) error { return a.touched(found, main, path) })
		}
		return found, err
	})
}

// changes are the last commits that changed the entries of a directory.
type changes map[string]*Commit

func (c changes) bytes() (n int) {
	for name, x := range c {
		n += 400 + len(name) + len(x.Subject) + len(x.Body)
	}
	return n
}

func (a *asking) touched(found changes, main []gitwire.ObjectID, path string) error {
	commits, err := a.commits(main)
	if err != nil || len(commits) == 0 {
		return err
	}
	trees, err := a.trees(commits, path)
	if err != nil || trees[0] == nil {
		return err
	}
	for name, e := range trees[0] {
		for i, c := range commits {
			last := i+1 == len(commits)
			if last && (len(main) == touchedWalk || len(c.Parents) > 0) {
				break // it may be older
			}
			if last || trees[i+1][name] != e {
				found[name] = c
				break
			}
		}
	}
	return nil
}

// trees returns what a directory had in each of the commits, as many as are cheap; nil where it was not there.
func (a *asking) trees(commits []*Commit, path string) ([]map[string]Entry, error) {
	all := make([]map[string]Entry, len(commits))
	read := map[gitwire.ObjectID]map[string]Entry{}
	ids := make([]gitwire.ObjectID, len(commits))
	for i, c := range commits {
		ids[i] = c.Tree
	}
	names := split(path)
	if len(names) > touchedDepth {
		return all, nil
	}
	for depth := 0; ; depth++ {
		if err := a.level(ids, read); err != nil {
			return nil, err
		}
		for i, id := range ids {
			all[i] = read[id]
			if depth < len(names) {
				if ids[i] = all[i][names[depth]].ID; all[i][names[depth]].Mode != ModeDir {
					ids[i] = gitwire.ObjectID{}
				}
			}
		}
		if depth == len(names) {
			return all, nil
		}
	}
}

// level reads the directories that are not read yet.
func (a *asking) level(ids []gitwire.ObjectID, read map[gitwire.ObjectID]map[string]Entry) error {
	var lacking []gitwire.ObjectID
	for _, id := range ids {
		if _, ok := read[id]; !ok && !id.IsZero() {
			read[id] = nil
			lacking = append(lacking, id)
		}
	}
	for some := range slices.Chunk(lacking, 32) {
		objects, err := a.read(touchedTree, some...)
		if err != nil {
			return err
		}
		for i, o := range objects {
			if o.Kind != "tree" || o.Size > touchedTree { // one that was read for a page may be larger
				continue
			}
			entries, err := parseTree(o.Contents)
			if err != nil {
				continue
			}
			at := map[string]Entry{}
			for _, e := range entries {
				at[e.Name] = e
			}
			read[some[i]] = at
		}
	}
	return nil
}

package repopage

import (
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

const mostNames = 200 // names in the path of a page, of which a ref may have as many

// spot is what the path of a page of code names: a commit, and a path in it.
type spot struct {
	Ref    string // as people write it: main, HEAD, refs/tags/v1, or the id of a commit
	Commit gitwire.ObjectID
	Path   string // "" for the uppermost directory
	Fixed  bool   // Ref is an id, so what stands there never changes
}

// spotOf reads an escaped path. A slash may belong to the ref or to the path: the longest ref counts, and a branch before a tag. An id is no name of a
// ref, whoever made such a branch. It returns false where there is no such ref.
func spotOf(refs *gitwire.Refs, escaped string) (s spot, ok bool) {
	path, err := url.PathUnescape(escaped)
	names := strings.Split(path, "/")
	if err != nil || len(names) > mostNames || strings.ContainsRune(path, 0) {
		return s, false
	}
	if id, err := gitwire.ParseObjectID(names[0]); err == nil {
		return spot{names[0], id, strings.Join(names[1:], "/"), true}, true
	}
	for n := len(names); n > 0 && refs != nil; n-- {
		name := strings.Join(names[:n], "/")
		if r, ok := refs.Named(name); ok {
			return spot{Ref: name, Commit: r.Tip(), Path: strings.Join(names[n:], "/")}, true
		}
	}
	return s, false
}

// shortRef returns the name by which spotOf finds a ref again.
func shortRef(refs *gitwire.Refs, r gitwire.Ref) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		if name, ok := strings.CutPrefix(r.Name, prefix); ok {
			first, _, _ := strings.Cut(name, "/")
			_, noID := gitwire.ParseObjectID(first)
			if found, _ := refs.Named(name); noID != nil && found.Name == r.Name {
				return name
			}
		}
	}
	return r.Name
}

// escapePath escapes the names of a path.
func escapePath(path string) string {
	names := strings.Split(path, "/")
	for i, name := range names {
		names[i] = grasp.Escape(name)
	}
	return strings.Join(names, "/")
}

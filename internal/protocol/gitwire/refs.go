package gitwire

import (
	"cmp"
	"slices"
)

// Refs are what a repository shows: its branches, tags and other refs, and where HEAD points.
type Refs struct {
	// Head is the full name of the branch that HEAD names, or "" for no HEAD. A branch that is not among the refs makes an
	// unborn HEAD.
	Head string
	// List is in the order of the bytes of the names, as Sort makes it, each name once.
	List []Ref
}

// Ref is a name, and the object that the name stands for.
type Ref struct {
	Name   string
	ID     ObjectID
	Peeled ObjectID // what an annotated tag is about in the end; zero of everything else
}

// Sort puts the refs into the order that git shows.
func (r *Refs) Sort() {
	slices.SortFunc(r.List, func(a, b Ref) int { return cmp.Compare(a.Name, b.Name) })
}

// Find returns the ref of that name. For HEAD it returns the branch that HEAD names, under the name HEAD.
func (r *Refs) Find(name string) (Ref, bool) {
	full := name
	if name == "HEAD" {
		full = r.Head
	}
	i, ok := slices.BinarySearchFunc(r.List, full, func(ref Ref, name string) int { return cmp.Compare(ref.Name, name) })
	if !ok {
		return Ref{}, false
	}
	ref := r.List[i]
	ref.Name = name
	return ref, true
}

// Named returns the ref that people mean by a name: a branch before a tag, and else the ref whose full name it is.
func (r *Refs) Named(name string) (Ref, bool) {
	for _, prefix := range []string{"refs/heads/", "refs/tags/", ""} {
		if ref, ok := r.Find(prefix + name); ok {
			return ref, true
		}
	}
	return Ref{}, false
}

// Tip returns the object to which the ref leads in the end: of an annotated tag what it is about.
func (r Ref) Tip() ObjectID {
	if !r.Peeled.IsZero() {
		return r.Peeled
	}
	return r.ID
}

// size is about the length of the refs as text, for one allocation.
func (r *Refs) size() int {
	n := 2 * sha1Hex
	for i := range r.List {
		n += len("0000 \n") + sha1Hex + len(r.List[i].Name)
		if !r.List[i].Peeled.IsZero() {
			n += len("0000 ^{}\n") + sha1Hex + len(r.List[i].Name)
		}
	}
	return n
}

package gitfetch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// namespaces are the beginnings of the refs that shown keeps.
var namespaces = []string{"refs/heads/", "refs/tags/", "refs/nostr/"}

// shown collects the refs that a server shows, as far as they are of use here.
type shown struct {
	most int // refs that are kept
	head string
	refs []gitwire.Ref
	ids  map[gitwire.ObjectID]bool // of refs and HEAD
}

func newShown(most int) *shown { return &shown{most: most, ids: map[gitwire.ObjectID]bool{}} }

// shows reports whether a ref is at an id.
func (s *shown) shows(id gitwire.ObjectID) bool { return s.ids[id] }

// list returns the refs in their order.
func (s *shown) list() *gitwire.Refs {
	refs := &gitwire.Refs{Head: s.head, List: s.refs}
	refs.Sort()
	return refs
}

// add takes a ref. It leaves out names of other namespaces and names that git takes in no push, with their ids.
func (s *shown) add(hex, name []byte) error {
	id, err := parseID(hex)
	switch {
	case err != nil:
		return err
	case string(name) == "HEAD":
		s.ids[id] = true
		return nil
	case !useful(string(name)):
		return nil
	case len(s.refs) >= s.most:
		return fmt.Errorf("%w: %d refs", ErrTooMuch, s.most)
	}
	s.ids[id] = true
	s.refs = append(s.refs, gitwire.Ref{Name: string(name), ID: id})
	return nil
}

func useful(name string) bool {
	return slices.ContainsFunc(namespaces, func(n string) bool { return strings.HasPrefix(name, n) }) && gitwire.CheckRefName(name) == nil
}

// peel notes the object at the end of the tag that was added last, if name is that tag's.
func (s *shown) peel(hex, name []byte) error {
	id, err := parseID(hex)
	if err != nil {
		return err
	}
	if n := len(s.refs); n > 0 && s.refs[n-1].Name == string(name) {
		s.refs[n-1].Peeled = id
	}
	return nil
}

// point notes the branch that HEAD names.
func (s *shown) point(target string) {
	if strings.HasPrefix(target, "refs/heads/") && useful(target) {
		s.head = target
	}
}

// finish checks that no name is shown twice, after all refs were read.
func (s *shown) finish() error {
	names := make(map[string]bool, len(s.refs))
	for i := range s.refs {
		if names[s.refs[i].Name] {
			return protocol("%s is shown twice", quote(s.refs[i].Name))
		}
		names[s.refs[i].Name] = true
	}
	return nil
}

// line2 takes a line of the answer to ls-refs.
func (s *shown) line2(line []byte) error {
	hex, rest, ok := bytes.Cut(line, []byte(" "))
	name, attributes, _ := bytes.Cut(rest, []byte(" "))
	if !ok || len(name) == 0 {
		return protocol("%s is no ref", quote(line))
	}
	born := string(hex) != "unborn"
	if born {
		if err := s.add(hex, name); err != nil {
			return err
		}
	}
	for attribute := range bytes.SplitSeq(attributes, []byte(" ")) {
		if target, is := bytes.CutPrefix(attribute, []byte("symref-target:")); is && string(name) == "HEAD" {
			s.point(string(target))
		}
		if of, is := bytes.CutPrefix(attribute, []byte("peeled:")); is && born {
			if err := s.peel(of, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseID reads the id of an object: not the null id.
func parseID(hex []byte) (gitwire.ObjectID, error) {
	id, err := gitwire.ParseObjectID(hex)
	if err != nil {
		return id, protocol("%s", err)
	}
	if id.IsZero() {
		return id, protocol("the null id stands where an object's should")
	}
	return id, nil
}

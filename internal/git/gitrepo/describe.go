package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// maxNested bounds the tags on the way from a tip to the object at its end.
const maxNested = 8

// description is what objects are, and what the tags among them name. One process is asked about each object once, level by level: a tag is
// one level above the object that it names. So the work grows with the objects, however many tips lead to each.
type description struct {
	inspection
	kinds map[gitwire.ObjectID]string
	names map[gitwire.ObjectID]gitwire.ObjectID
}

// describe finds out what objects are, and follows tags to the objects at their ends. It fails with a [*MissingError] for an object that is not there.
func (q *quarantine) describe(ctx context.Context, ids []gitwire.ObjectID, party string) (*description, error) {
	x := &description{kinds: map[gitwire.ObjectID]string{}, names: map[gitwire.ObjectID]gitwire.ObjectID{}}
	x.questions = newQuestions(ctx)
	if x.level(ids, 0); len(x.expected) == 0 {
		return x, nil
	}
	err := q.run(ctx, gitproc.Inspect(), gitproc.Run{Party: party, In: &x.questions, Out: x, Ended: x.questions.end})
	if err == nil && len(x.expected) > 0 {
		err = errors.New("git did not say of all objects what they are")
	}
	if q.pack != "" {
		err = packError(err)
	}
	return x, err
}

// level asks what objects are to which so many tags lead, and then what the tags among them name.
func (x *description) level(ids []gitwire.ObjectID, above int) {
	var tags []gitwire.ObjectID
	for _, id := range ids {
		if _, asked := x.kinds[id]; asked {
			continue
		}
		x.kinds[id] = ""
		x.info(id, "", func(o object) error {
			if x.kinds[id] = o.kind; o.kind == "" {
				return missing([]gitwire.ObjectID{id})
			}
			if o.kind == "tag" && o.size <= maxCommit && above < maxNested {
				tags = append(tags, id)
			}
			return nil
		})
	}
	x.round(func() error { x.follow(tags, above); return nil })
}

// follow reads tags, and goes on with the objects that they name.
func (x *description) follow(tags []gitwire.ObjectID, above int) {
	var next []gitwire.ObjectID
	for _, id := range tags {
		x.read(id, "", func(o object) error {
			to, err := tagged(o.contents)
			if err != nil {
				return fmt.Errorf("tag %s: %w", id, err)
			}
			x.names[id] = to
			next = append(next, to)
			return nil
		})
	}
	x.round(func() error { x.level(next, above+1); return nil })
}

// tagged returns the object that a tag names.
func tagged(tag []byte) (gitwire.ObjectID, error) {
	line, _, _ := bytes.Cut(tag, []byte("\n"))
	id, ok := bytes.CutPrefix(line, []byte("object "))
	if !ok {
		return gitwire.ObjectID{}, errors.New("it names no object")
	}
	return gitwire.ParseObjectID(id)
}

// end returns the object that a tip leads to, and false where more than maxNested tags are on the way.
func (x *description) end(tip gitwire.ObjectID) (id gitwire.ObjectID, ok bool) {
	id = tip
	for range maxNested {
		to, more := x.names[id]
		if !more {
			break
		}
		id = to
	}
	return id, x.kinds[id] != "tag"
}

// peeled returns the object at the end of each tag among the tips. A tag that is too deep for that it leaves out, or refuses, if new is true.
func (x *description) peeled(tips []gitwire.ObjectID, new bool) (map[gitwire.ObjectID]gitwire.ObjectID, error) {
	peeled := map[gitwire.ObjectID]gitwire.ObjectID{}
	for _, tip := range tips {
		switch id, ok := x.end(tip); {
		case !ok && new:
			return nil, &PackError{Text: fmt.Sprintf("tag %s names a tag that names a tag and so on, and more than %d tags on the way to an object are not taken: "+
				"make a tag of the object itself (git tag -f NAME TAG^{})", tip, maxNested)}
		case ok && id != tip:
			peeled[tip] = id
		}
	}
	return peeled, nil
}

// allCommits fails where one of ids is known to be something else.
func (x *description) allCommits(ids []gitwire.ObjectID) error {
	for _, id := range ids {
		if kind := x.kinds[id]; kind != "" && kind != "commit" {
			return &PackError{NotCommit: id, Text: fmt.Sprintf("%s is a %s, and must be a commit", id, kind)}
		}
	}
	return nil
}

// unknown returns those of ids that x knows nothing of, and that are not among others.
func (x *description) unknown(ids []gitwire.ObjectID, others map[gitwire.ObjectID]bool) []gitwire.ObjectID {
	return slices.DeleteFunc(slices.Clone(ids), func(id gitwire.ObjectID) bool { return x.kinds[id] != "" || others[id] })
}

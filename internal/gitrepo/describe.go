package gitrepo

import (
	"bytes"
	"context"
	"fmt"

	"github.com/graspd/graspd/internal/gitproc"
	"github.com/graspd/graspd/internal/gitwire"
)

// describe finds the type of each tip, and the object at the end of each tag among them.
func (q *quarantine) describe(ctx context.Context, p Proving) (map[gitwire.ObjectID]gitwire.ObjectID, error) {
	if len(p.Tips) == 0 {
		return nil, nil
	}
	commits := make(map[gitwire.ObjectID]bool, len(p.Commits))
	for _, id := range p.Commits {
		commits[id] = true
	}
	peeled := map[gitwire.ObjectID]gitwire.ObjectID{}
	n := 0
	out := &lines{each: func(line []byte) error {
		if n >= 2*len(p.Tips) {
			return fmt.Errorf("git says more than it was asked")
		}
		tip, whole := p.Tips[n/2], n%2 == 1 // questions about a tip alternate with questions about the object at its end
		n++
		hex, kind, _ := bytes.Cut(line, []byte(" "))
		id, err := gitwire.ParseObjectID(hex)
		if err != nil || string(kind) == "missing" {
			return fmt.Errorf("what %s is: git says %.100q", tip, line)
		}
		if whole && id != tip {
			peeled[tip] = id
		}
		if !whole && commits[tip] && string(kind) != "commit" {
			return notACommit(tip, string(kind))
		}
		return nil
	}}
	in := &idReader{groups: []idGroup{{ids: p.Tips, again: "^{}"}}}
	err := q.run(ctx, gitproc.Describe(), gitproc.Run{Party: p.Party, In: in, Out: out})
	if err != nil {
		return nil, err
	}
	if n != 2*len(p.Tips) {
		return nil, fmt.Errorf("git described %d of %d objects", n/2, len(p.Tips))
	}
	return peeled, nil
}

func notACommit(tip gitwire.ObjectID, kind string) error {
	return &PackError{Text: fmt.Sprintf("%s is a %s, and a branch must be a commit", tip, kind)}
}

package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// refuseLarge has git tell the sizes of all objects in the pack, and fails with a [*PackError] where a commit, a tag or a tree is larger than it may
// be. One that the repository has already, and that came along, is none of the pack's.
func (q *quarantine) refuseLarge(ctx context.Context, party string) error {
	out := &lines{each: func(line []byte) error {
		words := bytes.Split(line, []byte(" "))
		if len(words) != 3 {
			return fmt.Errorf("git said %.100q of an object", line)
		}
		size, err := strconv.ParseUint(string(words[2]), 10, 63)
		if err != nil {
			return err
		}
		kind := map[string]objectType{"commit": commitObject, "tag": tagObject, "tree": treeObject}[string(words[1])]
		refused := bounded(kind, size)
		if refused == nil {
			return nil
		}
		id, err := gitwire.ParseObjectID(words[0])
		if err != nil {
			return err
		}
		lacks, err := q.d.packs.lacks(q.beside, []gitwire.ObjectID{id})
		if err != nil || len(lacks) == 0 {
			return err
		}
		return refused
	}}
	err := q.runAlone(ctx, gitproc.SizeUp(), gitproc.Run{Party: party, Out: out})
	var refused *PackError
	if errors.As(err, &refused) {
		return refused
	}
	return packError(err)
}

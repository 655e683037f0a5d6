package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Findings says what is wrong with a repository, in words for the operator.
type Findings struct {
	Refs   []string // files of refs that differ from what they should say; Project and Mend write them anew
	Frame  []string // files by which git knows a repository, and which are missing; Mend makes them
	Others []string // files that the repository does not need; Mend takes them away
	Data   []string // packs and objects that are damaged or missing; Salvage saves the others
}

// All returns the findings of all four kinds.
func (f Findings) All() []string {
	return slices.Concat(f.Data, f.Frame, f.Refs, f.Others)
}

// Check compares a repository with the refs that it should have, reads its packs, and proves that all that the refs lead to is
// there.
func (d *Disk) Check(ctx context.Context, repo ID, refs *gitwire.Refs) (Findings, error) {
	f, err := d.checkAll(ctx, repo, refs)
	if err != nil {
		return Findings{}, fmt.Errorf("checking repository %s: %w", repo, err)
	}
	return f, nil
}

// checkAll looks at the files first, then at the packs, and where both are sound at the objects that refs lead to.
func (d *Disk) checkAll(ctx context.Context, repo ID, refs *gitwire.Refs) (f Findings, err error) {
	if there, err := d.dir.isDir(repo.path()); err != nil || !there {
		if len(refs.List) > 0 {
			f.Data = append(f.Data, "there is no such directory")
		}
		return f, err
	}
	if err := d.dir.checkFiles(repo, refs, &f); err != nil {
		return f, err
	}
	others, err := d.packs.others(ctx, repo)
	if err != nil {
		return f, err
	}
	for _, o := range others {
		f.Others = append(f.Others, o.why)
	}
	if f.Data, err = d.packs.damaged(ctx, repo); err != nil || len(f.Data) > 0 {
		return f, err // git is not asked about what is damaged
	}
	lost, err := d.checkObjects(ctx, repo, refs, len(f.Others)+len(f.Frame) == 0)
	f.Data = append(f.Data, lost...)
	return f, err
}

// checkFiles compares the files of refs, and looks for the files by which git knows a repository.
func (d *directory) checkFiles(repo ID, refs *gitwire.Refs, f *Findings) error {
	packed, head, err := files(0, refs)
	if err != nil {
		return err
	}
	needed := len(refs.List) > 0 // else a kill may have been quicker than whoever made the directory
	for _, dir := range []string{"refs", "objects", "objects/pack"} {
		if there, err := d.isDir(repo.path() + "/" + dir); err != nil {
			return err
		} else if !there && needed {
			f.Frame = append(f.Frame, dir+" is not there")
		}
	}
	for _, file := range []struct {
		name    string
		content []byte
		lacks   *[]string
	}{{"packed-refs", packed, &f.Refs}, {"HEAD", head, &f.Frame}} {
		got, err := d.root.ReadFile(repo.path() + "/" + file.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if needed {
				*file.lacks = append(*file.lacks, file.name+" is not there")
			}
		case err != nil:
			return err
		case !bytes.Equal(withoutGeneration(got), file.content):
			f.Refs = append(f.Refs, file.name+" is not what the log says")
		}
	}
	return nil
}

// withoutGeneration returns packed-refs as it is where nobody knows the generation, and other files as they are.
func withoutGeneration(b []byte) []byte {
	generation, rest := cutPacked(b)
	if generation == 0 {
		return b
	}
	return append(appendHead(nil, 0), rest...)
}

// checkObjects proves that every object that refs lead to is there. It asks git only where git takes the directory for a repository,
// and where no strange file is in it that git might believe.
func (d *Disk) checkObjects(ctx context.Context, repo ID, refs *gitwire.Refs, ours bool) (problems []string, err error) {
	ids := make([]gitwire.ObjectID, len(refs.List))
	for i, ref := range refs.List {
		ids[i] = ref.ID
	}
	lacks, err := d.packs.lacks(repo, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range lacks[:min(len(lacks), maxNamed)] {
		problems = append(problems, fmt.Sprintf("object %s is missing, which a ref names", id))
	}
	if ids = without(ids, lacks); !ours || len(ids) == 0 {
		return problems, nil
	}
	incomplete, err := d.incomplete(ctx, repo.path(), repo, ids)
	if incomplete != "" {
		problems = append(problems, "what refs lead to is not all there: "+incomplete)
	}
	return problems, err
}

// incomplete returns what git says where an object that ids lead to is missing, and "" where none is. The directory has the repository's
// packs, or some of them.
func (d *Disk) incomplete(ctx context.Context, dir string, repo ID, ids []gitwire.ObjectID) (string, error) {
	err := d.run(ctx, gitproc.Reach(), gitproc.Run{Kind: gitproc.Maintenance, At: gitproc.Dirs{Repository: d.dir.abs(dir)},
		In: &idReader{groups: []idGroup{{ids: ids}}}, Out: io.Discard}, repo)
	var failed *gitproc.Error
	if errors.As(err, &failed) && failed.Ending == gitproc.Exited && !errors.Is(err, ErrNoSpace) {
		return lastLine(failed.Stderr), nil
	}
	return "", err
}

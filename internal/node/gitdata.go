package node

import (
	"context"
	"os"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// OpenGitData opens the repositories in a data directory that no node has open. Where there are none the error is fs.ErrNotExist.
func OpenGitData(ctx context.Context, dir, program string, readOnly bool) (*gitrepo.Disk, error) {
	if _, err := os.Stat(GitIn(dir)); err != nil {
		return nil, err
	}
	git, err := gitproc.Open(ctx, gitproc.Config{Program: program})
	if err != nil {
		return nil, err
	}
	return gitrepo.Open(gitrepo.Config{Dir: GitIn(dir), Git: git, ReadOnly: readOnly})
}

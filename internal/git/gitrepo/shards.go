package gitrepo

import (
	"context"
	"errors"
	"strings"
)

// eachRepository calls do for each repository that has a directory.
func (d *directory) eachRepository(ctx context.Context, do func(ID) error) error {
	return d.walk(ctx, ".", 2, func(dir string) error {
		entries, err := d.list(dir)
		for _, e := range entries {
			repo, bad := ParseID(e.Name())
			if bad != nil || repo.path() != dir+"/"+e.Name() {
				continue
			}
			if err := errors.Join(context.Cause(ctx), do(repo)); err != nil {
				return err
			}
		}
		return err
	})
}

// walk calls do for the directories that are so many levels below dir, through directories with names of shards.
func (d *directory) walk(ctx context.Context, dir string, levels int, do func(string) error) error {
	if levels == 0 {
		return do(strings.TrimPrefix(dir, "./"))
	}
	entries, err := d.list(dir)
	for _, e := range entries {
		if len(e.Name()) != len("ab") || !e.IsDir() {
			continue
		}
		if err := errors.Join(context.Cause(ctx), d.walk(ctx, dir+"/"+e.Name(), levels-1, do)); err != nil {
			return err
		}
	}
	return err
}

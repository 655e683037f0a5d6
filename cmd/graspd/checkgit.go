package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/graspd/graspd/internal/audit"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/progress"
	"github.com/graspd/graspd/internal/store"
)

// gitCheck says whether and with which git program the check looks at the git data.
type gitCheck struct {
	wanted  bool
	program string
	meter   *progress.Meter
}

// check looks at the git data beside a store, if there is any, prints what it found and returns the problems.
func (g gitCheck) check(ctx context.Context, c *Config, std stdio, s *store.Store) (problems []string, err error) {
	err = g.on(ctx, c, s, true, func(a audit.Config) error {
		r, err := audit.Check(ctx, a)
		g.meter.End()
		if err != nil {
			return err
		}
		fmt.Fprintf(std.out, "%d repositories with %d refs and %s of packs\n", r.Repositories, r.Refs, megabytes(r.Bytes))
		if r.Behind > 0 {
			fmt.Fprintf(std.out, "the files of %d repositories are older than their refs: the next start writes them\n", r.Behind)
		}
		if r.Unshown > 0 {
			fmt.Fprintf(std.out, "%d pull requests have no ref though their commits are here: graspd check --repair adds them\n", r.Unshown)
		}
		if r.Unnamed > 0 {
			fmt.Fprintf(std.out, "%d directories belong to no repository: graspd removes them when it runs\n", r.Unnamed)
		}
		problems = listed(r.Problems, r.More)
		return nil
	})
	return problems, err
}

// repair mends the git data beside a store that was built anew, if there is any, prints what it did and returns what is lost.
func (g gitCheck) repair(ctx context.Context, c *Config, std stdio) (lost []string, err error) {
	if !g.wanted {
		return nil, nil
	}
	s, err := node.OpenStore(c.Data, c.storeOptions())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = g.on(ctx, c, s, false, func(a audit.Config) error {
		r, err := audit.Repair(ctx, a)
		g.meter.End()
		if err != nil {
			return err
		}
		if r.Rows > 0 {
			fmt.Fprintf(std.out, "the refs of %d repositories were made anew from the stored events\n", r.Rows)
		}
		if r.Files > 0 {
			fmt.Fprintf(std.out, "the files of %d repositories were made anew\n", r.Files)
		}
		if r.Tips > 0 {
			fmt.Fprintf(std.out, "%d pull requests got the refs that they lacked\n", r.Tips)
		}
		if r.Found > 0 {
			fmt.Fprintf(std.out, "%d repositories that the store had lost were found again by their files\n", r.Found)
		}
		lost = listed(r.Problems, r.More)
		return nil
	})
	return lost, err
}

// on calls do with the opened git data; it does nothing where there is none or nobody wants the check.
func (g gitCheck) on(ctx context.Context, c *Config, s *store.Store, readOnly bool, do func(audit.Config) error) (err error) {
	if !g.wanted {
		return nil
	}
	disk, err := node.OpenGitData(ctx, c.Data, g.program, readOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.Close()) }()
	return do(audit.Config{Store: s, Disk: disk, Rand: rand.Reader, Now: time.Now,
		Progress: func(done, all int64) { g.meter.Show(done, all, done) }})
}

// megabytes writes a number of bytes in MiB, rounded up.
func megabytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

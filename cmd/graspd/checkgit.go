package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitcheck"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/progress"
)

// gitCheck says whether and with which git program the check looks at the git data.
type gitCheck struct {
	wanted  bool
	program string
	bucket  *node.Bucket // nil: what lies in a bucket is not looked at
	meter   *progress.Meter
}

// check looks at the git data beside a store, if there is any, prints what it found and returns the problems.
func (g gitCheck) check(ctx context.Context, c *Config, std stdio, s *store.Store) (problems []string, err error) {
	err = g.on(ctx, c, s, true, func(a gitcheck.Config) error {
		r, err := gitcheck.Check(ctx, a)
		g.meter.End()
		if err != nil {
			return err
		}
		fmt.Fprintf(std.out, "%s with %s and %s of packs\n", safetext.Number(r.Repositories, "repository", "repositories"), safetext.Number(r.Refs, "ref", "refs"),
			megabytes(r.Bytes))
		if r.Elsewhere > 0 && g.bucket == nil {
			fmt.Fprintf(std.out, "the git data of %s is in a bucket, and was not looked at: --bucket has it checked\n", safetext.Number(r.Elsewhere, "repository", "repositories"))
		}
		if r.Behind > 0 {
			fmt.Fprintf(std.out, "the files of %s are older than the refs: the next start writes them\n", safetext.Number(r.Behind, "repository", "repositories"))
		}
		if r.Unshown > 0 {
			fmt.Fprintf(std.out, "%s no ref though the commits are here: graspd check --repair adds it\n",
				safetext.Number(r.Unshown, "pull request has", "pull requests have"))
		}
		if r.Unnamed > 0 {
			fmt.Fprintf(std.out, "%s to no repository: graspd removes that when it runs\n", safetext.Number(r.Unnamed, "directory belongs", "directories belong"))
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
	err = g.on(ctx, c, s, false, func(a gitcheck.Config) error {
		r, err := gitcheck.Repair(ctx, a)
		g.meter.End()
		if err != nil {
			return err
		}
		if r.Rows > 0 {
			fmt.Fprintf(std.out, "the refs of %s were made anew from the stored events\n", safetext.Number(r.Rows, "repository", "repositories"))
		}
		if r.Files > 0 {
			fmt.Fprintf(std.out, "the files of %s were made anew\n", safetext.Number(r.Files, "repository", "repositories"))
		}
		if r.Tips > 0 {
			fmt.Fprintf(std.out, "the refs of %s were made anew\n", safetext.Number(r.Tips, "pull request", "pull requests"))
		}
		if r.Found > 0 {
			fmt.Fprintf(std.out, "%s that the store had lost: found again by the files\n", safetext.Number(r.Found, "repository", "repositories"))
		}
		lost = listed(r.Problems, r.More)
		return nil
	})
	return lost, err
}

// on calls do with the opened git data; it does nothing where there is none or nobody wants the check.
func (g gitCheck) on(ctx context.Context, c *Config, s *store.Store, readOnly bool, do func(gitcheck.Config) error) (err error) {
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
	o := gitcheck.Config{Store: s, Disk: disk, Rand: rand.Reader, Now: time.Now, Progress: func(done, all int64) { g.meter.Show(done, all, done) }}
	if g.bucket != nil {
		o.Depot = depot.New(depot.Config{Objects: g.bucket.Objects, Rows: s})
	}
	return do(o)
}

// megabytes writes a number of bytes in MiB, rounded up.
func megabytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
